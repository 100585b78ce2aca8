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
  const find = (after: string | undefined, all: readonly MadeLink[]) => {
    const first = after === undefined ? 0 : all.findIndex(({ code }) => code === after) + 1;
    const some = all.slice(first, first + most);
    return { links: some.map((link) => linkOf(link, short)), more: all.length > first + most };
  };
  const ofTargets = linksBy('target', made);
  const byTarget = links.map(({ target_url, domain_id, after }) =>
    find(
      after,
      (ofTargets.get(target_url) ?? []).filter(({ domain }) => domain === domain_id),
    ),
  );
  const ofCodes = linksBy('code', codes.length > 0 ? made : []);
  const byCode = codes.map((asked) => find(undefined, ofCodes.get(asked) ?? []));
  return { results: [...byTarget, ...byCode] };
}

function linksBy(key: 'target' | 'code', made: readonly MadeLink[]): Map<string, MadeLink[]> {
  const found = new Map<string, MadeLink[]>();
  for (const link of made) {
    const same = found.get(link[key]);
    if (same === undefined) found.set(link[key], [link]);
    else same.push(link);
  }
  return found;
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
