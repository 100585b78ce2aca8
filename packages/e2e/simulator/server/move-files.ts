/** Exports of other services, and of our own, as operators move links in from them. */
import { PUBLIC_URL } from './world.ts';

/** A link as it was elsewhere. */
export interface MovedLink {
  id: string;
  /** Only an export of our own has codes, and ids. */
  code: string | undefined;
  target: string;
  /** Of its addresses there. */
  paths: string[];
}

/** A file of links, and what else the command needs. */
interface MoveFile {
  text: string;
  options: readonly string[];
}

const OLD_HOST = 'old.example';
const OURS = new URL(PUBLIC_URL).host;

const csv = (...rows: readonly (readonly string[])[]) =>
  rows.map((row) => `${row.join()}\n`).join('');

/** By service. Those that tell of codes are our own; only some have several addresses of a link. */
const WRITERS = {
  shortlink: (links, at) => ({
    text: links
      .map(({ id, code, target, paths }) => ({
        ...{
          id,
          code,
          target_url: target,
          title: '',
          tags: [],
          redirect_type: 302,
          is_active: true,
        },
        ...{ click_count: 0, created_at: at, domain: OURS, short_url: `${PUBLIC_URL}/${code}` },
        aliases: paths.map((path) => `${PUBLIC_URL}/${path}`),
      }))
      .map((link) => `${JSON.stringify(link)}\n`)
      .join(''),
    options: [],
  }),
  bitly: (links, at) => ({
    text: JSON.stringify({
      links: links.map(({ target, paths: [first, ...others] }) => ({
        ...{
          link: `https://${OLD_HOST}/${first}`,
          long_url: target,
          created_at: at,
          archived: true,
        },
        custom_bitlinks: others.map((path) => `https://${OLD_HOST}/${path}`),
      })),
    }),
    options: ['--host', `${OLD_HOST}=${OURS}`],
  }),
  shlink: (links, at) => ({
    text: JSON.stringify({
      shortUrls: {
        data: links.map(({ target, paths: [path] }) => ({
          ...{ shortCode: path, shortUrl: `https://${OLD_HOST}/${path}`, longUrl: target },
          ...{ dateCreated: at, tags: ['moved'], title: null, visitsSummary: { total: 0 } },
        })),
      },
    }),
    options: ['--host', `${OLD_HOST}=${OURS}`, '--from', 'shlink'],
  }),
  yourls: (links, at) => ({
    text: csv(
      ['keyword', 'url', 'title', 'timestamp', 'clicks'],
      ...links.map(({ target, paths: [path = ''] }) => [
        ...[path, target, '"moved, with a comma"', at.slice(0, 19).replace('T', ' '), '0'],
      ]),
    ),
    options: ['--host', `=${OURS}`],
  }),
  rebrandly: (links, at) => ({
    text: csv(
      ['slashtag', 'destination', 'domain name', 'created at', 'status'],
      ...links.map(({ target, paths: [path = ''] }) => [path, target, OLD_HOST, at, 'active']),
    ),
    options: ['--host', `${OLD_HOST}=${OURS}`],
  }),
} satisfies Record<string, (links: readonly MovedLink[], at: string) => MoveFile>;

export type MoveService = keyof typeof WRITERS;

export const MOVE_SERVICES = Object.keys(WRITERS) as MoveService[];

/** How many addresses of each link its exports have. */
export function addressesIn(service: MoveService): number {
  return service === 'shortlink' || service === 'bitly' ? 2 : 1;
}

/** The command that moves links to an account, and what it reads. */
export function moveOf(
  service: MoveService,
  accountId: string,
  links: readonly MovedLink[],
  now: number,
): { words: string[]; stdin: string } {
  const { text, options } = WRITERS[service](links, new Date(now).toISOString());
  return {
    words: ['links', 'import', '-', '--account', accountId, ...options, '--json'],
    stdin: text,
  };
}
