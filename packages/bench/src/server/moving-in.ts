import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgres } from '../../../server/test/start-postgres.ts';
import { runMeasured } from '../cli/run-measured.ts';
import { type Contender, interleave } from '../frame/rounds.ts';
import { medianOf, type Row, type Section, type SectionContext, scaled } from '../frame/section.ts';
import { OLD_HOST, PUBLIC_URL, writeExport } from './links-to-move.ts';
import { SERVER_PROGRAM } from './targets.ts';

const BARE = new URL('./bare-inserts.ts', import.meta.url).pathname;
const BARE_NAME = 'bare inserts';
const IMPORT_NAME = 'links import';
const SECONDS = 'seconds';
const MEMORY = 'peak RSS, MB';

/** An import takes at most so many times as long as the inserts alone, and at most this much memory. */
const MOST_OF_BARE = 3;
const MOST_MB = 250;

/** A run takes about a minute. */
const MOST_ROUNDS = 3;

/** A database that is made for one run. */
interface Place {
  url: string;
  remove: () => Promise<unknown>;
}

/** A million links with one and a half million old addresses, from a file into an empty database. */
export function measureMovingIn(context: SectionContext): Promise<Section> {
  let made = 0;
  return measureMoves(context, 'SQLite', async () => {
    made += 1;
    const path = join(context.directory, `moved-${made}.db`);
    return { url: `sqlite:${path}`, remove: () => rm(path) };
  });
}

export async function measureMovingInOnPostgres(context: SectionContext): Promise<Section> {
  const postgres = await startPostgres();
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  let made = 0;
  try {
    return await measureMoves(context, 'PostgreSQL', async () => {
      made += 1;
      const name = `moved_${made}`;
      await client.query(`CREATE DATABASE ${name}`);
      const url = postgres.url.replace(/[^/]+$/, name);
      return { url, remove: () => client.query(`DROP DATABASE ${name} WITH (FORCE)`) };
    });
  } finally {
    await client.end();
    await postgres.remove();
  }
}

async function measureMoves(
  context: SectionContext,
  engine: string,
  makePlace: () => Promise<Place>,
): Promise<Section> {
  const links = scaled(1_000_000, context);
  const file = join(context.directory, 'export.csv');
  await writeExport(file, links);
  const contender = (name: string, argsOf: Argument): Contender => ({
    name,
    measure: async () => {
      const { url, remove } = await makePlace();
      const env = { SHORTLINK_DATABASE_URL: url, SHORTLINK_PUBLIC_URL: PUBLIC_URL };
      const [program = '', ...args] = argsOf({ url, links, file, ...makeAccount(env) });
      const { directory } = context;
      const { ms, cpuMs, peakMb } = await runMeasured(program, args, { directory, env });
      await remove();
      return { [SECONDS]: ms / 1000, 'CPU µs/link': (cpuMs / links) * 1000, [MEMORY]: peakMb };
    },
  });
  const rows = await interleave(
    [
      contender(BARE_NAME, ({ url, account, domain }) => [
        ...[BARE, url, account, domain],
        String(links),
      ]),
      contender(IMPORT_NAME, ({ account }) => [
        ...[SERVER_PROGRAM, 'links', 'import', file],
        ...['--account', account],
      ]),
    ],
    {
      rounds: Math.min(context.rounds, MOST_ROUNDS),
      warmups: 0,
      ratio: { of: SECONDS, to: [BARE_NAME] },
    },
  );
  return {
    title: `Moving ${links.toLocaleString('en-US')} links in, ${engine}`,
    about:
      'Whole programs, an export of this service with three old addresses for two links, in steps of 2,000. The inserts read and check nothing.',
    rows,
    checks: checksOf(rows),
  };
}

type Argument = (run: {
  url: string;
  account: string;
  domain: string;
  links: number;
  file: string;
}) => string[];

/** The tables, an account and the domain of the old addresses. */
function makeAccount(env: Record<string, string>): { account: string; domain: string } {
  const run = (...args: string[]): { id: string } => {
    const words = execFileSync(process.execPath, [SERVER_PROGRAM, ...args, '--json'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
      encoding: 'utf8',
    });
    return JSON.parse(words);
  };
  const account = run('accounts', 'create', '--name', 'bench', '--plan', 'custom', '--init').id;
  return { account, domain: run('domains', 'add', OLD_HOST, '--account', account).id };
}

function checksOf(rows: readonly Row[]): Section['checks'] {
  return [
    {
      name: 'time, links import/bare inserts',
      measured: medianOf(rows, IMPORT_NAME, `to ${BARE_NAME}`),
      wanted: { atMost: MOST_OF_BARE },
    },
    {
      name: 'peak RSS of the import, MB',
      measured: rows.find(({ name }) => name === IMPORT_NAME)?.figures[MEMORY]?.max ?? Number.NaN,
      wanted: { atMost: MOST_MB },
    },
  ];
}
