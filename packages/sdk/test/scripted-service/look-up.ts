import type { MadeLink } from './service.ts';

export const LOOKUP_PATH = '/api/v1/links/lookup';

/**
 * The answer to a look-up by targets or by codes, in the order asked, with the oldest links first.
 *
 * @param most - links of an entry in one answer
 * @param short - what short URLs begin with
 */
export function lookUp(
  made: readonly MadeLink[],
  body: string,
  { most, short }: { most: number; short: string },
): { results: object[] } {
  const { links = [], codes = [] } = JSON.parse(body) as {
    links?: { target_url: string; domain_id?: string; after?: string }[];
    codes?: string[];
  };
  const find = (after: string | undefined, isAsked: (link: MadeLink) => boolean) => {
    const all = made.filter(isAsked);
    const first = after === undefined ? 0 : all.findIndex(({ code }) => code === after) + 1;
    const some = all.slice(first, first + most);
    return { links: some.map((link) => linkOf(link, short)), more: all.length > first + most };
  };
  const byTarget = links.map(({ target_url, domain_id, after }) =>
    find(after, ({ target, domain }) => target === target_url && domain === domain_id),
  );
  const byCode = codes.map((asked) => find(undefined, ({ code }) => code === asked));
  return { results: [...byTarget, ...byCode] };
}

function linkOf(
  { code, target, domain, title, tags, redirect_type }: MadeLink,
  short: string,
): object {
  return {
    id: code,
    code,
    short_url: short + code,
    target_url: target,
    title,
    tags,
    redirect_type,
    domain_id: domain ?? null,
  };
}
