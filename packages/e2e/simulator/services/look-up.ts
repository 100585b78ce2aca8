import type { MadeLink } from './service.ts';

export const LOOKUP_PATH = '/api/v1/links/lookup';

/** What short URLs begin with. */
export const SHORT = 'https://sho.rt/';

/** Links of an entry, of which our own server names 20: so that few links take several requests. */
const MAX_ENTRY_LINKS = 3;

/** The answer to a look-up by targets or by codes, in the order asked, with the oldest links first. */
export function lookUp(made: readonly MadeLink[], body = '{}'): { results: object[] } {
  const { links = [], codes = [] } = JSON.parse(body) as {
    links?: { target_url: string; domain_id?: string; after?: string }[];
    codes?: string[];
  };
  const find = (after: string | undefined, isAsked: (link: MadeLink) => boolean) => {
    const all = made.filter(isAsked);
    const first = after === undefined ? 0 : all.findIndex(({ code }) => code === after) + 1;
    const some = all.slice(first, first + MAX_ENTRY_LINKS);
    return { links: some.map(linkOf), more: all.length > first + MAX_ENTRY_LINKS };
  };
  const byTarget = links.map(({ target_url, domain_id, after }) =>
    find(after, ({ target, domain }) => target === target_url && domain === domain_id),
  );
  const byCode = codes.map((asked) => find(undefined, ({ code }) => code === asked));
  return { results: [...byTarget, ...byCode] };
}

function linkOf({ code, target, domain, title, tags, redirect_type }: MadeLink): object {
  return {
    id: code,
    code,
    short_url: SHORT + code,
    target_url: target,
    title,
    tags,
    redirect_type,
    domain_id: domain ?? null,
  };
}
