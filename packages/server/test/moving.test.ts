import {
  chmod,
  copyFile,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { MAX_TITLE_LENGTH } from '@shortlink/sdk/wire';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { CommandFailed } from '../src/admin/command.ts';
import { runProgram } from '../src/admin/program.ts';
import { databaseTools } from '../src/open-store.ts';
import { usePostgres } from '../src/store/postgres/test-postgres.test-suite.ts';
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import { useDatabasePath } from '../src/store/sqlite/temp-database.test-suite.ts';
import type { Store } from '../src/store/store.ts';
import { StoreError } from '../src/store/store-error.ts';
import { START } from './fixture.ts';

const postgres = usePostgres();
const path = useDatabasePath();

/** For tests about what is read, checked and said: to open a file starts the thread that writes to it, which takes longer than they do. */
const MEMORY = 'sqlite::memory:';

/** The stores that commands have opened, by their database. To open one takes longer than a command: it starts the thread that writes. */
const stores = new Map<string, Promise<Store>>();
afterEach(async () => {
  const opened = await Promise.all(stores.values());
  stores.clear();
  await Promise.all(opened.map((store) => store.close()));
});

/** Commands on one database, as an operator runs them. They share a store, which the end of the test closes. */
class Operator {
  readonly out: string[] = [];
  readonly err: string[] = [];
  readonly database: string;
  account = '';
  stdin: string[] = [];
  /** Called when links were checked. */
  onChecked = async (): Promise<void> => undefined;
  /** Called before links are written. */
  onImport = async (): Promise<void> => undefined;
  /** Called when the file of an export is open, and nothing is in it. */
  onExport = async (): Promise<void> => undefined;

  publicUrl: string | undefined = 'https://sho.rt';

  constructor(database: string) {
    this.database = database;
  }

  static async open(database: string, ...hosts: string[]): Promise<Operator> {
    const operator = new Operator(database);
    const created = await operator.json(
      'accounts',
      'create',
      '--name',
      'A',
      '--plan',
      'community',
      '--init',
    );
    operator.account = created.id;
    for (const host of hosts) await operator.json('domains', 'add', host, '--account', created.id);
    return operator;
  }

  async run(...args: string[]): Promise<number> {
    this.out.length = 0;
    this.err.length = 0;
    const unused = () => Promise.reject(new Error('unused'));
    const where = ['--database', this.database];
    if (this.publicUrl !== undefined) where.push('--public-url', this.publicUrl);
    return runProgram([...args, ...where], '1.2.3', {
      ...{ env: {}, stdin: Readable.from(this.stdin), now: () => START },
      write: async (text) => void this.out.push(text),
      err: (line) => this.err.push(line),
      databaseTools: (settings) => ({
        open: async (publicUrl, migrate) => {
          const opened =
            stores.get(this.database) ?? databaseTools(settings).open(publicUrl, migrate);
          stores.set(this.database, opened);
          const store = await opened;
          const checkImport: Store['checkImport'] = (input) =>
            store.checkImport(input).finally(() => this.onChecked());
          const exportLinks: Store['exportLinks'] = async (...args) => {
            await this.onExport();
            return store.exportLinks(...args);
          };
          const importLinks: Store['importLinks'] = (input) =>
            this.onImport().then(() => store.importLinks(input));
          const hooked = { checkImport, importLinks, exportLinks };
          return { ...store, ...hooked, close: async () => undefined };
        },
        ...{ migrate: unused, inspect: unused, backup: unused },
      }),
      start: unused,
      interruptible: (act) => act(new AbortController().signal),
    });
  }

  // biome-ignore lint/suspicious/noExplicitAny: each command prints another shape.
  async json(...args: string[]): Promise<any> {
    expect(await this.run(...args, '--json'), this.err.join('\n')).toBe(0);
    return JSON.parse(this.out[0] ?? '');
  }

  import(file: string, ...args: string[]): Promise<number> {
    return this.run('links', 'import', file, '--account', this.account, ...args);
  }

  async export(...args: string[]): Promise<string> {
    expect(await this.run('links', 'export', ...args), this.err.join('\n')).toBe(0);
    return this.out.join('');
  }

  /** All links, with their old addresses, by the target. */
  async links() {
    const lines = (await this.export('--format', 'jsonl', '--account', this.account)).trim();
    return lines === '' ? [] : lines.split('\n').map((line) => JSON.parse(line));
  }
}

async function fileOf(name: string, content: string | Uint8Array): Promise<string> {
  const file = join(path(), '..', name);
  await writeFile(file, content);
  return file;
}

/** What each service's export holds of the same link, in CSV and as its API lists it. */
const TARGET = 'https://example.com/a?x=1';
const CREATED = '2022-10-24T10:40:37.000Z';
const EXPORTS: [string, string, string, object][] = [
  [
    'bitly CSV',
    'bitly.csv',
    `link,long_url,title,created_at,clicks,tags\nbit.example/Ab1,${TARGET},Moved,2022-10-24T10:40:37+0000,"1,234",a|b\n`,
    { aliases: ['https://bit.example/Ab1'], click_count: 1_234 },
  ],
  [
    'bitly CSV of its dashboard',
    'bitly.dashboard.csv',
    `Link,Custom Link,Destination URL,Title,Created At,Engagements,Tags\nhttps://bit.example/Ab1,"https://bit.example/custom, https://go.example/Ab1",${TARGET},Moved,2022-10-24T10:40:37+0000,7,"a, b"\n`,
    {
      aliases: ['https://bit.example/Ab1', 'https://bit.example/custom', 'https://go.example/Ab1'],
    },
  ],
  [
    'bitly JSON',
    'bitly.json',
    JSON.stringify({
      links: [
        {
          ...{ created_at: '2022-10-24T10:40:37+0000', id: 'bit.example/Ab1', archived: true },
          ...{
            link: 'https://bit.example/Ab1',
            long_url: TARGET,
            title: 'Moved',
            tags: ['a', 'b'],
          },
          custom_bitlinks: ['https://bit.example/custom', 'http://go.example/Ab1'],
        },
      ],
      pagination: { next: '' },
    }),
    {
      aliases: ['https://bit.example/Ab1', 'https://bit.example/custom', 'https://go.example/Ab1'],
      ...{ click_count: 0 },
    },
  ],
  [
    'dub CSV',
    'dub.csv',
    `Short link,Destination URL,Title,Clicks,Tags,Created at,Archived\nhttps://bit.example/Ab1,${TARGET},Moved,7,"a,b",2022-10-24T10:40:37.000Z,false\n`,
    { aliases: ['https://bit.example/Ab1'] },
  ],
  [
    'dub JSON',
    'dub.json',
    JSON.stringify([
      {
        ...{ id: 'link_1', domain: 'bit.example', key: 'Ab1', url: TARGET, clicks: 7 },
        ...{ shortLink: 'https://bit.example/Ab1', title: 'Moved', archived: false },
        ...{
          tags: [
            { id: 't', name: 'a' },
            { id: 'u', name: 'b' },
          ],
          createdAt: CREATED,
        },
      },
    ]),
    { aliases: ['https://bit.example/Ab1'] },
  ],
  [
    'kutt JSON',
    'kutt.json',
    JSON.stringify({
      ...{ limit: 10, skip: 0, total: 1 },
      data: [
        {
          ...{ id: 'x', address: '😀', banned: false, created_at: CREATED, visit_count: 7 },
          ...{
            link: 'https://bit.example/😀',
            target: TARGET,
            description: 'Moved',
            password: false,
          },
        },
      ],
    }),
    { aliases: ['https://bit.example/%F0%9F%98%80'], tags: [] },
  ],
  [
    'rebrandly JSON Lines',
    'rebrandly.jsonl',
    `${JSON.stringify({
      ...{ id: 'x', title: 'Moved', slashtag: 'Ab1', destination: TARGET, clicks: 7 },
      ...{ createdAt: CREATED, shortUrl: 'bit.example/Ab1', tags: [{ name: 'a' }, { name: 'b' }] },
      domain: { id: 'd', fullName: 'bit.example' },
    })}\n`,
    { aliases: ['https://bit.example/Ab1'] },
  ],
  [
    // A table with an empty cell makes decimals of all numbers of its column.
    'rebrandly JSON Lines with decimals',
    'rebrandly.decimals.jsonl',
    `${JSON.stringify({
      ...{ id: 'x', title: 'Moved', slashtag: 'Ab1', destination: TARGET, clicks: 7 },
      ...{ createdAt: CREATED, shortUrl: 'bit.example/Ab1', tags: [{ name: 'a' }, { name: 'b' }] },
    }).replace('"clicks":7', '"clicks":7.0')}\n`,
    { aliases: ['https://bit.example/Ab1'] },
  ],
  [
    'shlink CSV',
    'shlink.csv',
    `createdAt,shortUrl,longUrl,title,tags,visits\n2022-10-24T12:40:37+02:00,https://bit.example/a/B,${TARGET},Moved,a|b,7\n`,
    { aliases: ['https://bit.example/a/B'] },
  ],
  [
    'shlink JSON',
    'shlink.json',
    JSON.stringify({
      shortUrls: {
        data: [
          {
            ...{ shortCode: 'a/B', shortUrl: 'https://bit.example/a/B', longUrl: TARGET },
            ...{ dateCreated: '2022-10-24T12:40:37+02:00', tags: ['a', 'b'], title: 'Moved' },
            visitsSummary: { total: 7, nonBots: 6, bots: 1 },
          },
        ],
        pagination: { currentPage: 1 },
      },
    }),
    { aliases: ['https://bit.example/a/B'] },
  ],
  [
    'short.io CSV',
    'shortio.csv',
    `originalURL,path,domain,title,tags,clicks,createdAt,archived,redirectType\n${TARGET},Ab1,bit.example,Moved,"a,b",7,1666608037000,false,301\n`,
    { aliases: ['https://bit.example/Ab1'], redirect_type: 301 },
  ],
  [
    'yourls CSV',
    'yourls.csv',
    `keyword,url,title,timestamp,ip,clicks\nAb1,${TARGET},Moved,2022-10-24 10:40:37,127.0.0.1,7\n`,
    { aliases: ['https://bit.example/Ab1'], tags: [] },
  ],
];

test.each(EXPORTS)('%s: what it has is kept', async (_, name, content, differs) => {
  const operator = await Operator.open(`sqlite:${path()}`, 'bit.example', 'go.example');
  const file = await fileOf(name, content);
  const hosts = name.startsWith('yourls') ? ['--host', '=bit.example'] : [];
  expect(await operator.import(file, ...hosts), operator.err.join('\n')).toBe(0);
  expect(operator.err.join('\n')).toContain(`${name}: an export of ${name.split('.')[0]}`);
  const expected = {
    ...{ target_url: TARGET, title: 'Moved', tags: ['a', 'b'], click_count: 7 },
    ...{ redirect_type: 302, is_active: true, created_at: CREATED, domain: 'bit.example' },
    ...{ code: expect.any(String), id: expect.any(String), short_url: expect.any(String) },
  };
  const links = await operator.links();
  expect(links).toEqual([{ ...expected, ...differs }]);
  // The same again.
  expect(
    await operator.json('links', 'import', file, '--account', operator.account, ...hosts),
  ).toEqual({
    ...{ created: 0, extended: 0, exists: 1, dry_run: false },
  });
  expect(await operator.links()).toEqual(links);
});

test.each(['tags.json', 'tags.jsonl'])('tags of %s that are numbers are read', async (name) => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  const link = `{"long_url":"${TARGET}","link":"bit.example/a","tags":[1.0,{"name":2.0},"b"]}`;
  const file = await fileOf(name, name.endsWith('.json') ? `[${link}]` : link);
  expect(await operator.import(file), operator.err.join('\n')).toBe(0);
  expect(await operator.links()).toMatchObject([{ tags: ['1', '2', 'b'] }]);
});

/** Links as APIs list them, which don't lead anywhere today, or not everybody. */
const PAST = '2021-01-02T03:04:05.000Z';
const dub = { domain: 'bit.example', key: 'a', url: TARGET, shortLink: 'https://bit.example/a' };
const short = { originalURL: TARGET, path: 'a', domain: 'bit.example' };
const shlink = { shortUrl: 'https://bit.example/a', shortCode: 'a', longUrl: TARGET };
const kutt = { address: 'a', domain: 'bit.example', target: TARGET };
const rebrandly = { slashtag: 'a', destination: TARGET, domainName: 'bit.example' };

type State = [what: string, link: object, isActive: boolean, said?: string];

test.each<State>([
  ['an archived link of Dub leads on', { ...dub, archived: true, disabledAt: null }, true],
  ['and one of Short.io', { ...short, archived: true, expiresAt: null, hasPassword: false }, true],
  ['and one of Bitly', { long_url: TARGET, link: 'https://bit.example/a', archived: true }, true],
  ['one that was disabled does not', { ...dub, disabledAt: PAST }, false],
  ['nor one that has ended', { ...dub, expiresAt: PAST }, false],
  ['nor one that ends now', { ...dub, expiresAt: new Date(START).toISOString() }, false],
  ['nor one of Short.io', { ...short, expiresAt: Date.parse(PAST) }, false],
  ['nor one of Shlink', { ...shlink, meta: { validUntil: PAST, maxVisits: null } }, false],
  ['nor one of Kutt that is banned', { ...kutt, banned: true, password: false }, false],
  ['nor one of Rebrandly with another state', { ...rebrandly, status: 'disabled' }, false],
  ['one of Kutt as PostgreSQL writes it does', { ...kutt, banned: 'f' }, true],
  [
    'a state that nobody knows is said',
    { ...rebrandly, status: 'soon' },
    false,
    'not kept: states that are not known, so that their links are switched off (1 link)',
  ],
  ['one of Rebrandly that is active does', { ...rebrandly, status: 'active' }, true],
  [
    'a password is no secret of the target any more',
    { ...kutt, password: true },
    false,
    'not kept: passwords, so that their links are switched off (1 link)',
  ],
  [
    'an end in the future is said',
    { ...dub, expiresAt: '2999-01-02T03:04:05Z' },
    true,
    'not kept: the times at which links end (1 link)',
  ],
  [
    'and a limit of visits',
    { ...shlink, meta: { maxVisits: 5 }, visitsSummary: { total: 4 } },
    true,
    'not kept: limits of visits (1 link)',
  ],
  ['that was reached', { ...shlink, meta: { maxVisits: 5 }, visitsSummary: { total: 5 } }, false],
  ['also on Short.io', { ...short, clicksLimit: 5, clicks: 6 }, false],
  [
    'one that begins later',
    { ...shlink, meta: { validSince: '2999-01-02T03:04:05Z' } },
    false,
    'not kept: the times at which links begin, so that they are switched off (1 link)',
  ],
  [
    'one that begins now',
    { ...shlink, meta: { validSince: new Date(START).toISOString(), maxVisits: null } },
    true,
  ],
  ['one that has begun', { ...shlink, meta: { validSince: PAST, maxVisits: null } }, true],
  ...[
    { ...dub, geo: { DE: TARGET }, ios: null, android: null },
    { ...dub, geo: null, ios: TARGET, android: null },
    { ...dub, geo: {}, ios: null, android: TARGET },
    { ...short, iphoneURL: TARGET },
    { ...shlink, hasRedirectRules: true },
    { ...shlink, deviceLongUrls: { android: null, ios: TARGET, desktop: null } },
    { long_url: TARGET, link: 'https://bit.example/a', deeplinks: [{ os: 'ios' }] },
  ].map((link): State => {
    const said = 'not kept: targets for some countries, devices or visitors (1 link)';
    return ['targets for some are said', link, true, said];
  }),
  ['and none where there are none', { ...dub, geo: {}, ios: null, android: null }, true],
  [
    'nor for a device of Shlink',
    { ...shlink, deviceLongUrls: { android: null, ios: null, desktop: null } },
    true,
  ],
  ['nor in an app', { long_url: TARGET, link: 'https://bit.example/a', deeplinks: [] }, true],
  [
    'a password is found behind an empty column',
    { ...short, password: null, hasPassword: true },
    false,
    'not kept: passwords, so that their links are switched off (1 link)',
  ],
  [
    'also behind one that says no',
    { ...short, passwordContact: false, hasPassword: true },
    false,
    'not kept: passwords, so that their links are switched off (1 link)',
  ],
])('states of links: %s', async (_, link, is_active, said?: string) => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  expect(await operator.import(await fileOf('links.json', JSON.stringify([link])))).toBe(0);
  expect(operator.err.filter((line) => line.startsWith('not kept'))).toEqual(said ? [said] : []);
  expect(await operator.links()).toMatchObject([{ is_active }]);
});

test.each([
  ['2022-10-24 10:40:37', CREATED],
  ['2022-10-24T12:40:37+02:00', CREATED],
  ['2022/10/24 10:40:37', CREATED],
  ['2022-10-24T10:40:37', CREATED],
  ['2022-10-24T10:40:37.000', CREATED],
  ['2022-10-24 12:40:37+02', CREATED],
  ['2022-10-24T12:40:37+0200', CREATED],
  ['Mon Oct 24 2022 12:40:37 GMT+0200 (Central European Summer Time)', CREATED],
  ['Oct 24, 2022 10:40:37 AM', CREATED],
  ['Mon, 24 Oct 2022 10:40:37 GMT', CREATED],
  ['24 Oct 2022 12:40:37+0200', CREATED],
  ['2022-10-24', '2022-10-24T00:00:00.000Z'],
  ['24-Oct-2022', '2022-10-24T00:00:00.000Z'],
  ['Oct-24-2022', '2022-10-24T00:00:00.000Z'],
  ['1666608037', CREATED],
  // Of a clock that is a day ahead.
  ['2026-11-21T10:20:30.500Z', '2026-11-21T10:20:30.500Z'],
])('the creation time %s is that of no zone but UTC', async (text, created_at) => {
  vi.stubEnv('TZ', 'America/New_York');
  onTestFinished(() => void vi.unstubAllEnvs());
  const operator = await Operator.open(MEMORY, 'bit.example');
  const file = await fileOf(
    'b.csv',
    `link,long_url,created_at\nbit.example/a,${TARGET},"${text}"\n`,
  );
  expect(await operator.import(file), operator.err.join('\n')).toBe(0);
  expect(await operator.links()).toMatchObject([{ created_at }]);
});

test.each([
  '03/02/2021',
  '03/02/2021 10:00 UTC',
  '2021-02-30T00:00:00Z',
  'Feb 30 2021',
  'soon',
  '2026-11-21T10:20:30.501Z',
])('the creation time %s is refused with its line', async (text) => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  const file = await fileOf('b.csv', `link,long_url,created_at\nbit.example/a,${TARGET},${text}\n`);
  expect(await operator.import(file)).toBe(1);
  expect(operator.err.join('\n')).toMatch(`b.csv, line 2: `);
  expect(operator.err.join('\n')).toContain(text);
});

test('an export in another encoding, or with a rare delimiter, is read as the operator says', async () => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  const text = `link!long_url!title\nbit.example/a!${TARGET}!Caf\u00e9\n`;
  const file = await fileOf('b.csv', Buffer.from(text, 'latin1'));
  expect(await operator.import(file)).toBe(1);
  expect(operator.err.at(-1)).toMatch(
    /is not UTF-8\. Save the file as UTF-8, or name its encoding: --encoding windows-1252$/,
  );
  for (const wrong of [
    ['--encoding', 'latin-9000'],
    ['--delimiter', ';;'],
  ])
    expect(await operator.import(file, ...wrong)).toBe(2);
  const written = ['--encoding', 'windows-1252', '--delimiter', '!'];
  expect(await operator.import(file, ...written), operator.err.join('\n')).toBe(0);
  expect(await operator.links()).toMatchObject([{ title: 'Caf\u00e9', target_url: TARGET }]);
});

test('what to do about a file is not said with options of another program', async () => {
  const operator = await Operator.open(MEMORY);
  const file = await fileOf('b.csv', 'https://example.com/a,b\nhttps://example.com/c\n');
  expect(await operator.import(file)).toBe(1);
  expect(operator.err.at(-1)).toMatch(/^error: .*"https:\/\/example\.com\/a,b" holds ","$/);
});

test('the longest title and the longest tags are kept', async () => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  const [title, tag] = ['x'.repeat(255), 'y'.repeat(64)];
  const rows = `link,long_url,title,tags\nbit.example/a,${TARGET},${title},${tag}\n`;
  expect(await operator.import(await fileOf('b.csv', rows))).toBe(0);
  expect(operator.err.filter((line) => line.startsWith('not kept'))).toEqual([]);
  expect(await operator.links()).toMatchObject([{ title, tags: [tag] }]);
});

test.each([
  ['1,234,567', 1_234_567],
  ['1 234', 1_234],
  ['1234', 1_234],
  ['12,34', undefined],
  ['1,2345', undefined],
  ['1.234', undefined],
])('clicks that are written as %s are read as %s', async (text, click_count) => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  const file = await fileOf('b.csv', `link,long_url,clicks\nbit.example/a,${TARGET},"${text}"\n`);
  expect(await operator.import(file)).toBe(click_count === undefined ? 1 : 0);
  const refused = `b.csv, line 2: its clicks are ${JSON.stringify(text)}`;
  if (click_count === undefined) expect(operator.err).toContain(refused);
  else expect(await operator.links()).toMatchObject([{ click_count }]);
});

describe('everything is checked before anything is written', () => {
  let operator: Operator;
  beforeEach(async () => {
    operator = await Operator.open(MEMORY, 'bit.example');
  });

  test('bad rows are listed with their lines', async () => {
    const first = await fileOf(
      'a.csv',
      'link,long_url\nhttps://bit.example/x,https://example.com/x\n',
    );
    expect(await operator.import(first)).toBe(0);
    const bad = [
      'https://bit.example/good,https://example.com/',
      'https://bit.example/api/v1,https://example.com/',
      'https://bit.example/,https://example.com/',
      'https://other.example/a,https://example.com/',
      'https://other.example/b,https://example.com/',
      'https://bit.example/t,https://bit.example/good',
      'https://bit.example/u,javascript:alert(1)',
      'https://bit.example/good,https://example.com/else',
      'https://bit.example/good,https://example.com/',
      'https://bit.example/x,https://example.com/else',
      ',https://example.com/',
      'https://bit.example/q?x=1,https://example.com/',
    ];
    const file = await fileOf('b.csv', `link,long_url\n${bad.join('\n')}\n`);
    expect(await operator.import(file)).toBe(1);
    const at = (line: number, text: string) => `b.csv, line ${line}: ${text}`;
    const failure = "10 rows can't be imported as they are; nothing was written";
    const problems = [
      at(3, 'its address "https://bit.example/api/v1" is one of the service itself'),
      at(4, 'its address "https://bit.example/" is one of the service itself'),
      at(
        5,
        'other.example is no host of this account: add it with domains add, or give --host other.example=HOST',
      ),
      at(7, "target_url must not point to one of the service's own domains"),
      at(8, 'target_url must be an absolute http or https URL'),
      at(9, 'bit.example/good leads elsewhere in b.csv, line 2'),
      at(11, 'bit.example/x leads to https://example.com/x already'),
      at(12, 'it has no short URL'),
      at(13, 'its address "https://bit.example/q?x=1" has a query, which is no alias'),
    ];
    expect(operator.err.slice(2)).toEqual([...problems, `error: ${failure}`]);
    expect(operator.out).toEqual([]);
    expect(await operator.links()).toHaveLength(1);
    expect(await operator.import(file, '--json')).toBe(1);
    const { error, refused, problems: listed } = JSON.parse(operator.out.join(''));
    expect({ error, refused }).toEqual({ error: failure, refused: 10 });
    expect(
      listed.map((one: { file: string; line: number; problem: string }) =>
        at(one.line, one.problem),
      ),
    ).toEqual(problems);
    expect(listed[0].file).toBe('b.csv');
  });

  test('rows with more cells than there are columns are listed, because a value in them may be cut', async () => {
    const rows = [
      'bit.example/a,https://example.com/?ids=1,2,Title',
      'bit.example/b,https://example.com/,Title,,',
    ];
    const file = await fileOf('b.csv', `link,long_url,title\n${rows.join('\n')}\n`);
    expect(await operator.import(file)).toBe(1);
    expect(operator.err.slice(2)).toEqual([
      'b.csv, line 2: it has more cells than there are columns',
      "error: 1 row can't be imported as it is; nothing was written",
    ]);
  });

  test.each([
    ['bit.example/b,https://example.com/sh', true],
    ['bit.example/b,"https://example.com/sh"', true],
    ['bit.example/b,https://example.com/shop,Title', false],
    ['bit.example/b,https://example.com/shop,"Title\n"', false],
  ])('a last line without an end may be cut off: %j', async (last, isRefused) => {
    const text = `link,long_url,title\nbit.example/a,https://example.com/a\n${last}`;
    const cut = 'b.csv, line 3: it has fewer cells than there are columns, and no line end: ';
    const note = 'b.csv: its last line, 3, has no line end: make sure that the file is not cut off';
    for (const pack of [Buffer.from, gzipSync]) {
      const file = await fileOf('b.csv', pack(text));
      expect(await operator.import(file)).toBe(isRefused ? 1 : 0);
      expect(operator.err.slice(2).join('\n')).toContain(isRefused ? cut : note);
    }
    expect(await operator.links()).toHaveLength(isRefused ? 0 : 2);
    expect(await operator.import(await fileOf('b.csv', `${text}\n`))).toBe(0);
    expect(operator.err).toHaveLength(2);
  });

  test('a row of a JSON document is named by its number, and no address by what it is not', async () => {
    const link = { long_url: 'https://example.com/', link: 'https://bit.example/a' };
    const links = [link, { ...link, link: 'mailto:a@bit.example' }];
    const file = await fileOf('b.json', JSON.stringify({ links }, null, 2));
    expect(await operator.import(file)).toBe(1);
    expect(operator.err.at(-2)).toMatch(/^b\.json, entry 2: mailto:.* is no host of this account/);
    expect(await operator.import(file, '--json')).toBe(1);
    expect(JSON.parse(operator.out.join(''))).toMatchObject({
      problems: [{ file: 'b.json', entry: 2, problem: expect.stringMatching(/^mailto:/) }],
    });
  });

  test('a row is named by its file, however many files there are', async () => {
    const row = (n: number) => `link,long_url\nbit.example/${n % 69},${TARGET}&${n}\n`;
    const files = await Promise.all(
      Array.from({ length: 71 }, (_, n) => fileOf(`page-${n}.csv`, row(n))),
    );
    expect(await operator.run('links', 'import', ...files, '--account', operator.account)).toBe(1);
    expect(operator.err.filter((line) => line.includes('leads elsewhere'))).toEqual([
      'page-69.csv, line 2: bit.example/0 leads elsewhere in page-0.csv, line 2',
      'page-70.csv, line 2: bit.example/1 leads elsewhere in page-1.csv, line 2',
    ]);
  });

  test('of many problems, the first of the files are listed', async () => {
    // Those that the database finds are known after the others of their group.
    const first = await fileOf('a.csv', `link,long_url\nbit.example/x,${TARGET}\n`);
    expect(await operator.import(first)).toBe(0);
    const rows = Array.from({ length: 250 }, (_, n) =>
      n % 2 === 0 ? `bit.example/n${n},javascript:${n}` : `bit.example/x,${TARGET}&${n}`,
    );
    // Only one link can be at an address, so each second one conflicts with the first or the database.
    const file = await fileOf('b.csv', `link,long_url\n${rows.join('\n')}\n`);
    expect(await operator.import(file)).toBe(1);
    const lines = operator.err.flatMap((line) => /^b\.csv, line (\d+)/.exec(line)?.[1] ?? []);
    expect(lines).toEqual(Array.from({ length: 100 }, (_, n) => String(n + 2)));
    expect(operator.err.at(-1)).toMatch(/^error: 250 rows can't be imported/);
  });

  test('a file without links holds up no other file', async () => {
    const empty = [
      await fileOf('p.json', '{"links":[]}'),
      await fileOf('e.jsonl', ''),
      await fileOf('e.jsonl.gz', gzipSync('')),
      await fileOf('p.json.gz', gzipSync('{"links":[]}')),
      await fileOf('l.json.gz', gzipSync('[]')),
    ];
    const one = await fileOf('b.csv', 'link,long_url\nbit.example/a,https://example.com/a\n');
    const args = ['links', 'import', ...empty, one, '--account', operator.account];
    expect(await operator.json(...args)).toMatchObject({ created: 1 });
    expect(operator.err.slice(1, 6)).toEqual(
      ['p.json', 'e.jsonl', 'e.jsonl.gz', 'p.json.gz', 'l.json.gz'].map(
        (name) => `${name}: no links`,
      ),
    );
    const none = { created: 0, extended: 0, exists: 0, dry_run: false };
    for (const name of ['link,long_url', 'code,target_url,click_count,created_at,aliases']) {
      for (const pack of [Buffer.from, gzipSync]) {
        const header = await fileOf('h.csv', pack(`${name}\n`));
        const alone = ['links', 'import', header, '--account', operator.account];
        expect(await operator.json(...alone)).toEqual(none);
      }
    }
  });

  test('a packed JSON document is read as one that is not packed', async () => {
    const links = [{ long_url: TARGET, link: 'https://bit.example/a' }];
    const file = await fileOf('b.json.gz', gzipSync(JSON.stringify({ links }, null, 2)));
    expect(await operator.import(file), operator.err.join('\n')).toBe(0);
    expect(await operator.links()).toMatchObject([{ target_url: TARGET }]);
  });

  test.each([
    ['an object', (links: object[]) => ({ links }), /is .* more than 32 MB.*jq -c/],
    ['a list', (links: object[]) => links, /is .* more than 32 MB.*jq -c/],
    ['unknown', (links: object[]) => ({ about: {}, links }), /no known service/],
  ])('a JSON document that is too long is refused: %s', async (_, documentOf, words) => {
    const link = { long_url: TARGET, link: 'https://bit.example/a', title: 'x'.repeat(2 ** 25) };
    const file = await fileOf('long.json', JSON.stringify(documentOf([link])));
    expect(await operator.import(file)).toBe(1);
    expect(operator.err.at(-1)).toMatch(words);
  });

  test('a title that is too long is cut before a character that has no room, not in it', async () => {
    const title = `${'x'.repeat(MAX_TITLE_LENGTH - 1)}😀`;
    const links = [{ ...{ long_url: TARGET, link: 'https://bit.example/a' }, title }];
    expect(await operator.import(await fileOf('a.json', JSON.stringify({ links })))).toBe(0);
    expect(await operator.links()).toMatchObject([{ title: title.slice(0, -2) }]);
  });

  const page = (n: number) => [{ long_url: TARGET, link: `https://bit.example/${n}` }];
  test.each([
    ['bitly', { links: page(1), pagination: { next: 'https://x', total: 2 } }, '1 of 2 links are'],
    [
      'bitly',
      { links: page(1), pagination: { next: 'https://x', total: '' } },
      'another page follows',
    ],
    ['bitly', { links: page(1), nextPageToken: 'x' }, 'another page follows'],
    ['kutt', { limit: 1, skip: 0, total: 3, data: page(1) }, '1 of 3 links are'],
    [
      'shlink',
      { shortUrls: { data: page(1), pagination: { currentPage: 1, pagesCount: 2 } } },
      'another page follows',
    ],
    [
      'shlink',
      { shortUrls: { data: page(1), pagination: { currentPage: 2, totalItems: 9 } } },
      '1 of 9 links are',
    ],
    ['yourls', { links: { link_1: page(1)[0] }, stats: { total_links: '4' } }, '1 of 4 links are'],
  ])('one page of many is said: %s', async (_, document, said) => {
    const text = JSON.stringify(document).replace(/(?<=(?:total|Page|Count)":\d)/g, '.0');
    const file = await fileOf('page.json', text);
    expect(await operator.import(file), operator.err.join('\n')).toBe(0);
    const where = said.endsWith('are') ? ' in' : '';
    expect(operator.err).toContain(`warning: pages are missing: ${said}${where} page.json`);
  });

  test('all pages of a list are not said to be some', async () => {
    const pages = [
      { links: page(1), pagination: { next: 'https://x', total: 2 } },
      { links: page(2), pagination: { next: '', total: 2 } },
      { links: page(3), pagination: { next: 'https://x' } },
      { links: page(4), pagination: { next: '' } },
    ];
    const files = await Promise.all(
      pages.map((one, n) => fileOf(`${n}.json`, JSON.stringify(one))),
    );
    expect(await operator.run('links', 'import', ...files, '--account', operator.account)).toBe(0);
    expect(operator.err.join('\n')).not.toContain('missing');
    expect(await operator.import(files[2] ?? '')).toBe(0);
    expect(operator.err).toContain('warning: pages are missing: another page follows 2.json');
  });

  test.each(['\n', ''])(
    'pages in one file with %j between them say what to do',
    async (between) => {
      const page = JSON.stringify({ links: [{ long_url: TARGET, link: 'bit.example/a' }] });
      const file = await fileOf('pages.json', page + between + page);
      expect(await operator.import(file)).toBe(1);
      expect(operator.err.at(-1)).toMatch(
        /pages\.json is not one JSON document.*jq -c '\.links\[\]'/,
      );
    },
  );

  test('a table in which two columns have one name is refused', async () => {
    const row = 'bit.example/a,https://example.com/,,,bit.example/b';
    const file = await fileOf('b.csv', `link,long_url,,,Link\n${row}\n`);
    expect(await operator.import(file)).toBe(1);
    expect(operator.err.at(-1)).toBe('error: b.csv: two columns are called "link"');
  });

  test('a dry run says what would be done', async () => {
    const file = await fileOf('a.csv', 'link,long_url\nbit.ly/x,https://example.com/x\n');
    const args = [
      'links',
      'import',
      file,
      '--account',
      operator.account,
      '--host',
      'bit.ly=bit.example',
    ];
    const counts = { created: 1, extended: 0, exists: 0 };
    expect(await operator.json(...args, '--dry-run')).toEqual({ ...counts, dry_run: true });
    expect(await operator.links()).toEqual([]);
    expect(await operator.json(...args)).toEqual({ ...counts, dry_run: false });
    expect((await operator.links())[0]).toMatchObject({ aliases: ['https://bit.example/x'] });
  });

  test('an unknown export and a path without a host say what to do', async () => {
    const unknown = await fileOf('u.csv', 'a,url\n1,https://example.com/\n');
    expect(await operator.import(unknown)).toBe(1);
    expect(operator.err.at(-1)).toMatch(/no known service \(a, url\).*--from shortio\|/);
    expect(await operator.import(unknown, '--json')).toBe(1);
    const { error } = JSON.parse(operator.out.join(''));
    expect(operator.err.at(-1)).toBe(`error: ${error}`);
    const paths = await fileOf(
      'y.csv',
      'keyword,url\na,https://example.com/\nb,https://example.com/b\n',
    );
    expect(await operator.import(paths)).toBe(1);
    expect(operator.err.slice(2)).toEqual([
      'y.csv, line 2: its address has a path only; --host =HOST says on which host of yours it shall be',
      "error: 2 rows can't be imported as they are; nothing was written",
    ]);
    expect(await operator.import(join(path(), 'missing.csv'))).toBe(1);
    expect(operator.err.at(-1)).toMatch(/missing\.csv can't be read/);
    expect(await operator.import(join(path(), 'missing.csv'), '--json')).toBe(1);
    expect(JSON.parse(operator.out.join(''))).toMatchObject({ problems: [] });
  });

  test('the export of a service that is not known is read once its columns have the names that it is told', async () => {
    const row = 'myalias,https://bit.example/myalias,https://example.com/t,5,2023-06-05 10:11:12\n';
    const own = await fileOf('t.csv', `Alias,Tiny URL,Long URL,Clicks,Created At\n${row}`);
    expect(await operator.import(own)).toBe(1);
    expect(operator.err.at(-1)).toMatch(
      /, or rename the columns of addresses and targets to link and long_url$/,
    );
    const named = await fileOf('n.csv', `Alias,link,long_url,Clicks,Created At\n${row}`);
    expect(await operator.import(named), operator.err.join('\n')).toBe(0);
    const [link] = (await operator.links()).slice(-1);
    expect(link).toMatchObject({ target_url: 'https://example.com/t', click_count: 5 });
    expect(link).toMatchObject({ aliases: ['https://bit.example/myalias'] });
  });

  test('a host that --host leads to and that nobody has is named', async () => {
    const file = await fileOf('a.csv', 'link,long_url\nhttps://bit.ly/x,https://example.com/x\n');
    expect(await operator.import(file, '--host', 'bit.ly=nohost.example')).toBe(1);
    expect(operator.err.at(-2)).toBe(
      'a.csv, line 2: nohost.example, from --host bit.ly=nohost.example, is no host of this account: add it with domains add',
    );
  });

  test('an unknown host may be that of the public URL, where none is set', async () => {
    operator.publicUrl = undefined;
    const file = await fileOf('a.csv', 'link,long_url\nsho.rt/x,https://example.com/x\n');
    const problem = 'a.csv, line 2: sho.rt is no host of this account: ';
    const todo = 'add it with domains add, or set SHORTLINK_PUBLIC_URL if it is the public host';
    expect(await operator.import(file)).toBe(1);
    expect(operator.err).toContain(`${problem}${todo}, or give --host sho.rt=HOST`);
    operator.publicUrl = 'https://sho.rt';
    expect(await operator.import(file)).toBe(0);
  });

  test('a host of another account is named with that', async () => {
    const { id } = await operator.json('accounts', 'create', '--name', 'B', '--plan', 'pro');
    await operator.json('domains', 'add', 'go.example', '--account', id);
    const file = await fileOf('a.csv', 'link,long_url\nhttps://go.example/x,https://a.example/x\n');
    expect(await operator.import(file)).toBe(1);
    expect(operator.err.at(-2)).toBe(
      `a.csv, line 2: go.example is no host of this account: account ${id} has it (--account), or give --host go.example=HOST`,
    );
    expect(await operator.import(file, '--host', 'go.example=go.example')).toBe(1);
    expect(operator.err.at(-2)).toMatch(
      new RegExp(
        `go\\.example, from .* is no host of this account: account ${id} has it \\(--account\\)$`,
      ),
    );
  });

  test('a host that --host leads to two others is a usage error', async () => {
    const file = await fileOf('a.csv', 'link,long_url\nbit.ly/x,https://example.com/x\n');
    const [first, second] = ['--host', 'bit.ly=bit.example'];
    expect(await operator.import(file, first, second, first, 'BIT.ly=go.example')).toBe(2);
    expect(operator.err.join()).toMatch(/bit\.ly leads to bit\.example already/);
    expect(await operator.import(file, first, second, first, second)).toBe(0);
    expect(await operator.import(file, first, '=bit.example', first, '=go.example')).toBe(2);
    expect(operator.err.join()).toMatch(/A path without a host leads to bit\.example already/);
  });

  test('an export of several accounts is not mixed into one', async () => {
    const line = (account_id: string, n: number) =>
      ownLine({ ...{ account_id, code: `BBBBBB${n}`, id: idOf(n) } });
    const file = await fileOf('all.jsonl', line('acc_one', 3) + line('acc_one', 4));
    expect(await operator.import(file, '--dry-run'), operator.err.join('\n')).toBe(0);
    const mixed = await fileOf('all.jsonl', line('acc_one', 3) + line('acc_two', 4));
    expect(await operator.import(mixed)).toBe(1);
    expect(operator.err.at(-1)).toBe(
      'error: all.jsonl, line 2: this link is of account acc_two, and those before it of acc_one. Import the lines of each account with its own --account, or export with --account; nothing was written',
    );
    expect(await operator.links()).toEqual([]);
  });
});

test('an own row is switched on or off, and nothing else', async () => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  const file = await fileOf('own.jsonl', ownLine({ is_active: 'maybe' }));
  expect(await operator.import(file)).toBe(1);
  expect(operator.err.at(-2)).toBe('own.jsonl, line 1: its is_active is "maybe"');
});

test('an own export says what it lacks', async () => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  const whole = JSON.parse(ownLine({ short_url: 'https://bit.example/BBBBBB3' }));
  const { code, id, target_url, is_active, click_count, created_at, aliases } = whole;
  const least = { code, id, target_url, is_active, click_count, created_at, aliases };
  const lacks =
    'titles, tags, redirect types (they are 302), hosts (all links are on the default domain)';
  for (const [link, said] of [
    [whole, ''],
    [{ ...whole, domain: undefined }, ''],
    [{ ...whole, short_url: undefined }, ''],
    [least, `, without ${lacks}`],
  ] as const) {
    const file = await fileOf('own.jsonl', `${JSON.stringify(link)}\n`);
    expect(await operator.import(file, '--dry-run')).toBe(0);
    expect(operator.err[1]).toBe(`own.jsonl: an export of this service${said}`);
  }
});

test('two own rows with one id are no two links', async () => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  const first = ownLine({});
  const file = await fileOf('own.jsonl', first + first + ownLine({ code: 'CCCCCC3' }));
  expect(await operator.import(file)).toBe(1);
  expect(operator.err.slice(2)).toEqual([
    `own.jsonl, line 3: its id ${idOf(3)} is that of another link in own.jsonl, line 1`,
    "error: 1 row can't be imported as it is; nothing was written",
  ]);
  expect(await operator.links()).toEqual([]);
});

test('an own row with the id of another link that exists is refused, also of one of another account', async () => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  expect(await operator.import(await fileOf('own.jsonl', ownLine({})))).toBe(0);
  const other = await operator.json('accounts', 'create', '--name', 'B', '--plan', 'pro');
  const rows = [{ code: 'DDDDDD3', id: idOf(4) }, { code: 'CCCCCC3' }];
  const lines = rows.map((row) => ownLine({ domain: '', ...row }));
  const file = await fileOf('more.jsonl', lines.join(''));
  for (const account of [operator.account, other.id]) {
    expect(await operator.run('links', 'import', file, '--account', account)).toBe(1);
    expect(operator.err.slice(2)).toEqual([
      `more.jsonl, line 2: its id ${idOf(3)} is that of link BBBBBB3`,
      "error: 1 row can't be imported as it is; nothing was written",
    ]);
  }
  expect(await operator.links()).toHaveLength(1);
});

test('a code that is taken on another host is named without one, and by its account', async () => {
  const operator = await Operator.open(MEMORY, 'bit.example', 'go.example');
  expect(await operator.import(await fileOf('own.jsonl', ownLine({})))).toBe(0);
  const target_url = 'https://example.com/else';
  const other = await fileOf('other.jsonl', ownLine({ domain: 'go.example', target_url }));
  expect(await operator.import(other)).toBe(1);
  expect(operator.err.at(-2)).toBe(
    'other.jsonl, line 1: the code BBBBBB3 leads to https://example.com/yo already',
  );
  const { id } = await operator.json('accounts', 'create', '--name', 'B', '--plan', 'pro');
  const same = await fileOf('same.jsonl', ownLine({ domain: '' }));
  expect(await operator.run('links', 'import', same, '--account', id)).toBe(1);
  expect(operator.err.at(-2)).toBe(
    `same.jsonl, line 1: the code BBBBBB3 leads to https://example.com/yo already, and is of account ${operator.account}`,
  );
});

test('a path that begins with two slashes is kept as it is', async () => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  const address = 'https://bit.example//evil.com/y';
  const file = await fileOf('a.csv', `link,long_url\n${address},https://example.com/x\n`);
  expect(await operator.import(file), operator.err.join('\n')).toBe(0);
  expect((await operator.links())[0]).toMatchObject({ aliases: [address] });
});

const idOf = (n: number) => `01a2b3c4-0000-7000-8000-00000000000${n}`;

/** A line of an own export. */
function ownLine(differs: object): string {
  const link = {
    ...{ code: 'BBBBBB3', id: idOf(3), target_url: 'https://example.com/yo', title: '', tags: [] },
    ...{ redirect_type: 302, is_active: true, click_count: 0, created_at: CREATED },
    ...{ domain: 'bit.example', aliases: [], ...differs },
  };
  return `${JSON.stringify(link)}\n`;
}

test('an address at the public host is that of the domain which the account has there', async () => {
  const operator = await Operator.open(MEMORY);
  const store = await stores.get(operator.database);
  await store?.addDomain({ hostname: 'sho.rt', accountId: operator.account, now: START });
  const csv = await fileOf('b.csv', 'link,long_url\nsho.rt/Ab1,https://example.com/a\n');
  expect(await operator.import(csv)).toBe(0);
  expect(await operator.links()).toMatchObject([{ domain: 'sho.rt' }]);
});

test('what is read from stdin leaves no file behind, however the command ends', async () => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  const temp = join(dirname(path()), 'temp');
  await mkdir(temp);
  vi.stubEnv('TMPDIR', temp);
  const bad = 'link,link\nx,y\n';
  for (const [stdin, exitCode, ...args] of [
    ['link,long_url\nbit.example/Ab1,https://example.com/a\n', 0, 'import', '-'],
    [bad, 1, 'import', '-'],
    ['short_url,title\nbit.example/Ab1,New\n', 0, 'update', '--yes', '--from', '-'],
    [bad, 1, 'update', '--from', '-'],
  ] as const) {
    operator.stdin = [stdin];
    const account = args[0] === 'import' ? ['--account', operator.account] : [];
    expect(await operator.run('links', ...args, ...account), operator.err.join('\n')).toBe(
      exitCode,
    );
    expect(await readdir(temp)).toEqual([]);
  }
  vi.unstubAllEnvs();
});

test('the code of a link that exists under another one leads to that', async () => {
  const operator = await Operator.open(MEMORY, 'bit.example', 'go.example');
  const yourls = await fileOf('y.csv', 'keyword,url\nozh,https://example.com/yo\n');
  expect(await operator.import(yourls, '--host', '=bit.example')).toBe(0);
  const aliases = ['http://bit.example/ozh'];
  const file = await fileOf('own.jsonl', ownLine({ aliases }));
  const args = ['links', 'import', file, '--account', operator.account];
  expect(await operator.json(...args)).toMatchObject({ created: 0, extended: 1, exists: 0 });
  const links = await operator.links();
  expect(links).toHaveLength(1);
  expect(links[0].aliases.toSorted()).toEqual([
    'https://bit.example/BBBBBB3',
    'https://bit.example/ozh',
  ]);
  expect(await operator.json(...args)).toMatchObject({ created: 0, extended: 0, exists: 1 });
  // The same code on another host.
  const other = await fileOf(
    'other.jsonl',
    ownLine({ domain: 'go.example', aliases: [...aliases, 'http://go.example/BBBBBB3'] }),
  );
  const others = ['links', 'import', other, '--account', operator.account];
  expect(await operator.json(...others)).toMatchObject({ created: 0, extended: 1, exists: 0 });
  expect((await operator.links())[0].aliases).toContain('https://go.example/BBBBBB3');
});

describe('the link of an own export is on the host of its short URL', () => {
  const line = ownLine({ domain: '', short_url: 'https://old.example/BBBBBB3' });

  test('which is no longer that of the default domain', async () => {
    const operator = await Operator.open(MEMORY, 'old.example');
    expect(await operator.import(await fileOf('own.jsonl', line)), operator.err.join('\n')).toBe(0);
    expect(await operator.links()).toMatchObject([{ code: 'BBBBBB3', domain: 'old.example' }]);
  });

  test('or where --host leads, or nowhere', async () => {
    const operator = await Operator.open(MEMORY);
    const file = await fileOf('own.jsonl', line);
    expect(await operator.import(file)).toBe(1);
    expect(operator.err.join('\n')).toContain('old.example is no host of this account');
    expect(await operator.import(file, '--host', 'old.example=sho.rt')).toBe(0);
    expect(await operator.links()).toMatchObject([{ short_url: 'https://sho.rt/BBBBBB3' }]);
  });

  test('or by its domain, where it has none', async () => {
    const operator = await Operator.open(MEMORY, 'bit.example');
    const file = await fileOf('own.jsonl', ownLine({ short_url: '' }));
    expect(await operator.import(file)).toBe(0);
    expect(await operator.links()).toMatchObject([{ domain: 'bit.example' }]);
  });
});

describe('a link is found by each of its addresses', () => {
  let operator: Operator;
  let code: string;
  beforeEach(async () => {
    operator = await Operator.open(MEMORY, 'bit.example');
    const rows = [
      'https://bit.example/a/é,https://example.com/x',
      'sho.rt/ozh,https://example.com/y',
    ];
    const file = await fileOf('a.csv', `link,long_url\n${rows.join('\n')}\n`);
    expect(await operator.import(file), operator.err.join('\n')).toBe(0);
    code = (await operator.links()).find(({ target_url }) => target_url.endsWith('x')).code;
  });
  const addresses = () => [
    code,
    'bit.example/a/é',
    'BIT.example/a/%c3%a9',
    'https://bit.example/a/é',
    `bit.example/${code}`,
    `http://bit.example:80/${code}`,
  ];

  test('by links show, disable, enable and update', async () => {
    for (const address of addresses()) {
      expect(await operator.json('links', 'show', address)).toMatchObject({ code });
      expect(await operator.json('links', 'disable', address)).toMatchObject({ is_active: false });
      expect(await operator.json('links', 'enable', address)).toMatchObject({ is_active: true });
      const target_url = `https://example.com/${encodeURIComponent(address)}`;
      const update = ['links', 'update', address, '--target', target_url];
      expect(await operator.json(...update)).toMatchObject({ code, target_url });
    }
    for (const address of ['/ozh', 'ozh', 'sho.rt/ozh', 'https://sho.rt/ozh']) {
      expect(await operator.json('links', 'show', address)).toMatchObject({
        target_url: 'https://example.com/y',
      });
    }
  });

  test('by links update --from, where two addresses of one link are one link', async () => {
    const [, second, third] = addresses();
    const row = (address: string | undefined) => `${address},https://example.com/right\n`;
    const one = await fileOf('one.csv', `code,target_url\n${row(second)}`);
    const update = ['links', 'update', '--yes', '--from'];
    expect(await operator.json(...update, one)).toMatchObject([{ code }]);
    const two = await fileOf('two.csv', `code,target_url\n${row(second)}${row(third)}`);
    expect(await operator.run(...update, two)).toBe(1);
    expect(operator.err.at(-1)).toBe(`error: two.csv, line 3: link ${code} is corrected twice`);
  });

  test('and by no other', async () => {
    const others = [
      'bit.example/ozh',
      `sho.rt/${code}`,
      'bit.example/a',
      'other.example/ozh',
      '/api',
      '',
    ];
    for (const address of others) {
      expect(await operator.run('links', 'show', address), address).toBe(1);
      expect(operator.err.at(-1)).toBe(`error: link ${JSON.stringify(address)} not found`);
    }
  });
});

test('what was checked is written, whatever becomes of the file meanwhile', async () => {
  const operator = await Operator.open(MEMORY, 'bit.example');
  const file = await fileOf('a.csv', 'link,long_url\nbit.example/a,https://example.com/a\n');
  operator.onChecked = () => writeFile(file, 'link,long_url\nbit.example/api,javascript:x\n');
  expect(await operator.import(file), operator.err.join('\n')).toBe(0);
  expect(await operator.links()).toMatchObject([{ target_url: 'https://example.com/a' }]);
});

test.each([
  [4, 0, 1],
  [5, 1, 0],
])(
  'an import that finds the database busy %i times ends with %i',
  async (times, exitCode, links) => {
    const operator = await Operator.open(MEMORY, 'bit.example');
    const file = await fileOf('a.csv', 'link,long_url\nbit.example/a,https://example.com/a\n');
    let tries = 0;
    operator.onImport = async () => {
      tries += 1;
      if (tries <= times) throw new StoreError('busy', 'The database is busy.');
    };
    expect(await operator.import(file)).toBe(exitCode);
    expect(await operator.links()).toHaveLength(links);
  },
);

test('an import that was killed is run again, whatever it had written', async () => {
  const operator = await Operator.open(`sqlite:${path()}`, 'bit.example');
  const rows = Array.from({ length: 2_500 }, (_, n) => `bit.example/${n},https://example.com/${n}`);
  const half = await fileOf('a.csv', `link,long_url\n${rows.slice(0, 2_100).join('\n')}\n`);
  const all = await fileOf('b.csv', `link,long_url\n${rows.join('\n')}\n`);
  expect(await operator.import(half)).toBe(0);
  const args = ['links', 'import', all, '--account', operator.account];
  expect(await operator.json(...args)).toMatchObject({ created: 400, exists: 2_100 });
  expect(await operator.json(...args)).toMatchObject({ created: 0, exists: 2_500 });
  expect(await operator.links()).toHaveLength(2_500);
});

test('two imports of the same links at once both succeed, on PostgreSQL', async () => {
  const operator = await Operator.open(await postgres.newSchema(), 'bit.example');
  const rows = Array.from({ length: 2_500 }, (_, n) => `bit.example/${n},https://example.com/${n}`);
  const file = await fileOf('a.csv', `link,long_url\n${rows.join('\n')}\n`);
  const imports = [operator, new Operator(operator.database)];
  let checking = imports.length;
  const checked = Promise.withResolvers<void>();
  for (const one of imports) {
    // Both have found none of the links before either writes one.
    one.onChecked = () => {
      one.onChecked = async () => undefined;
      checking -= 1;
      if (checking === 0) checked.resolve();
      return checked.promise;
    };
  }
  const args = ['links', 'import', file, '--account', operator.account];
  const counts = await Promise.all(imports.map((one) => one.json(...args)));
  expect(counts[0].created + counts[1].created).toBe(2_500);
  expect(await operator.links()).toHaveLength(2_500);
});

describe.each(['SQLite', 'PostgreSQL'])(
  'a domain that is removed after the check, on %s',
  (engine) => {
    test('gets no link and no address; the others are written, and the command fails', async () => {
      const database = engine === 'SQLite' ? `sqlite:${path()}` : await postgres.newSchema();
      const operator = await Operator.open(database, 'bit.example', 'go.example');
      const first = await fileOf('a.csv', `link,long_url\ngo.example/c,${TARGET}&c\n`);
      expect(await operator.import(first)).toBe(0);
      const rows = [
        { link: 'bit.example/a', custom_bitlinks: [], long_url: `${TARGET}&a` },
        { link: 'go.example/b', custom_bitlinks: [], long_url: `${TARGET}&b` },
        { link: 'go.example/c', custom_bitlinks: ['bit.example/c'], long_url: `${TARGET}&c` },
      ];
      const file = await fileOf('b.jsonl', rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
      operator.onChecked = async () => {
        const store = await stores.get(database);
        const removal = { hostname: 'bit.example', force: false, now: START };
        expect(await store?.removeDomain(removal)).toMatchObject({ ok: true });
      };
      expect(await operator.import(file, '--json')).toBe(1);
      const error =
        '2 of the links were left out: their addresses were taken, or their domain was removed, meanwhile';
      expect(operator.err.slice(2)).toEqual([
        'b.jsonl, line 1: bit.example was removed: add it again with domains add',
        `error: ${error}`,
      ]);
      const { problems, ...counts } = JSON.parse(operator.out.join(''));
      expect(counts).toEqual({ error, created: 1, extended: 0, exists: 0, refused: 2 });
      expect(problems).toHaveLength(1);
      expect((await operator.links()).map(({ aliases }) => aliases).toSorted()).toEqual([
        ['https://go.example/b'],
        ['https://go.example/c'],
      ]);
    });
  },
);

describe('where a domain of the account was removed', () => {
  let operator: Operator;
  beforeEach(async () => {
    operator = await Operator.open(MEMORY, 'bit.example');
    const own = await fileOf('a.jsonl', ownLine({ aliases: ['https://bit.example/a'] }));
    expect(await operator.import(own), operator.err.join('\n')).toBe(0);
    await operator.json('domains', 'remove', 'bit.example', '--force');
  });

  test.each([false, true])(
    'all links of an own export exist: another account has its host: %s',
    async (isTaken) => {
      const bytes = await operator.export('--account', operator.account);
      if (isTaken) {
        const { id } = await operator.json('accounts', 'create', '--name', 'B', '--plan', 'pro');
        await operator.json('domains', 'add', 'bit.example', '--account', id);
      }
      const file = await fileOf('own.csv', bytes);
      const args = ['links', 'import', file, '--account', operator.account];
      const counts = { created: 0, extended: 0, exists: 1 };
      expect(await operator.json(...args)).toMatchObject(counts);
      expect(await operator.export('--account', operator.account)).toBe(bytes);
    },
  );

  test('no link or address of an own export is made there', async () => {
    const rows = [
      { code: 'CCCCCC3', id: idOf(4), domain: '', aliases: ['https://bit.example/new'] },
      { code: 'DDDDDD3', id: idOf(5), short_url: 'https://bit.example/DDDDDD3' },
      { aliases: ['https://bit.example/b'] },
      { aliases: ['https://bit.example/a'] },
    ];
    const file = await fileOf('own.jsonl', rows.map(ownLine).join(''));
    expect(await operator.import(file)).toBe(1);
    expect(operator.err.slice(2)).toEqual([
      'own.jsonl, line 1: bit.example was removed: add it again with domains add',
      "error: 3 rows can't be imported as they are; nothing was written",
    ]);
  });

  test('the export of another service finds no such host', async () => {
    const file = await fileOf('b.csv', 'link,long_url\nbit.example/a,https://example.com/yo\n');
    expect(await operator.import(file)).toBe(1);
    expect(operator.err.at(-2)).toMatch(
      /bit\.example is no host of this account: add it with domains add, or give/,
    );
    const { id } = await operator.json('accounts', 'create', '--name', 'B', '--plan', 'pro');
    await operator.json('domains', 'add', 'bit.example', '--account', id);
    expect(await operator.import(file)).toBe(1);
    expect(operator.err.at(-2)).toContain(`account ${id} has it`);
  });
});

describe('links that lead to a domain which is added later', () => {
  let operator: Operator;
  let foreign: string;
  beforeEach(async () => {
    operator = await Operator.open(MEMORY, 'bit.example');
    foreign = await fileOf('a.csv', 'link,long_url\nbit.example/a,https://late.example/a\n');
    expect(await operator.import(foreign)).toBe(0);
    await operator.json('domains', 'add', 'late.example', '--account', operator.account);
  });

  test('exist already when their export is imported once more', async () => {
    const again = ['links', 'import', foreign, '--account', operator.account];
    expect(await operator.json(...again)).toMatchObject({ created: 0, exists: 1 });
    await writeFile(foreign, 'link,long_url\nbit.example/b,https://late.example/a\n');
    expect(await operator.import(foreign)).toBe(1);
    expect(operator.err.at(-2)).toMatch(/a\.csv, line 2: target_url must not .* own domains/);
  });

  test('are created from an own export', async () => {
    const bytes = await operator.export('--account', operator.account);
    const other = await Operator.open(`sqlite:${path()}2`, 'bit.example', 'late.example');
    const own = await fileOf('own.csv', bytes);
    // In the same command, other exports may not.
    const loop = await fileOf('loop.csv', 'link,long_url\nbit.example/b,https://late.example/b\n');
    expect(await other.run('links', 'import', own, loop, '--account', other.account)).toBe(1);
    expect(other.err.at(-2)).toMatch(/loop\.csv, line 2: target_url must not .* own domains/);
    expect(await other.import(own), other.err.join('\n')).toBe(0);
    expect(await other.export('--account', other.account)).toBe(bytes);
  });
});

describe('an export', () => {
  const awkward = [
    '=1+2',
    "'=1",
    "''=1",
    "'''-",
    "'x",
    "''x",
    "''",
    'a,b',
    '"q"',
    'line\nbreak',
    '😀',
    '-5',
    '\ttab',
    '+',
    '@x',
    'plain',
  ];

  async function fill(operator: Operator): Promise<void> {
    const links = awkward.map((title, n) => ({
      ...{ link: `https://bit.example/${n}/ü`, long_url: `https://example.com/${n}`, title },
      ...{ custom_bitlinks: [`https://go.example/c${n}`] },
      tags: n % 3 === 0 ? [] : ['one', title.trim() || 'x', '[x', 'a;b'],
      created_at: `2022-10-24T10:40:${String(n + 10)}+0000`,
    }));
    const file = await fileOf('fill.json', JSON.stringify({ links }));
    const hosts = ['--host', 'bit.example=bit.example'];
    expect(await operator.import(file, ...hosts), operator.err.join('\n')).toBe(0);
    const [link] = await operator.links();
    await operator.json('links', 'disable', link.code);
  }

  test.each(['csv', 'jsonl'])(
    'as %s imported into an empty database, of either engine, is exported as the same bytes',
    async (format) => {
      const first = await Operator.open(`sqlite:${path()}`, 'bit.example', 'go.example');
      await fill(first);
      const export_ = (operator: Operator) =>
        operator.export('--account', operator.account, '--format', format);
      const bytes = await export_(first);
      expect(bytes.split('\n').length).toBeGreaterThan(awkward.length);
      const file = await fileOf(`links.${format}`, bytes);
      for (const url of [await postgres.newSchema(), `sqlite:${path()}2`]) {
        const other = await Operator.open(url, 'bit.example', 'go.example');
        expect(await other.import(file), other.err.join('\n')).toBe(0);
        expect(await export_(other)).toBe(bytes);
        expect(await other.import(file)).toBe(0);
        expect(await export_(other)).toBe(bytes);
      }
    },
  );

  test('of all accounts names them; into a file, it replaces that at its end', async () => {
    const operator = await Operator.open(MEMORY, 'bit.example', 'go.example');
    await fill(operator);
    const file = await fileOf('out.csv', 'before');
    await chmod(file, 0o644);
    const printed = await operator.json('links', 'export', '-o', file);
    expect(printed).toEqual({ exported: awkward.length, file });
    const text = await readFile(file, 'utf8');
    // Whoever may read the one before may read this one; a new one is its owner's alone.
    expect((await lstat(file)).mode & 0o777).toBe(0o644);
    await operator.json('links', 'export', '-o', `${file}.new`);
    expect((await lstat(`${file}.new`)).mode & 0o777).toBe(0o600);
    expect(text).toMatch(/^code,short_url,target_url,.*,aliases,account_id\n/);
    expect(text).toContain(`,${operator.account}\n`);
    const packed = await fileOf('packed.csv.gz', gzipSync(text));
    const other = await Operator.open(`sqlite:${path()}3`, 'bit.example', 'go.example');
    expect(await other.import(packed), other.err.join('\n')).toBe(0);
    expect(await other.links()).toEqual(await operator.links());
    expect(await operator.run('links', 'export', '--account', 'acc_none')).toBe(1);
    expect(await operator.run('links', 'export', '-o', `${path()}-no/file.csv`)).toBe(1);
  });

  test('of one account has none of the links of another one', async () => {
    const operator = await Operator.open(MEMORY, 'bit.example');
    const csv = await fileOf('b.csv', 'link,long_url\nbit.example/a,https://example.com/a\n');
    expect(await operator.import(csv)).toBe(0);
    const { id } = await operator.json('accounts', 'create', '--name', 'B', '--plan', 'pro');
    expect(await operator.export('--format', 'jsonl', '--account', id)).toBe('');
    expect(await operator.links()).toHaveLength(1);
  });

  test('into a file that another one replaces meanwhile is whole, and no other file is touched', async () => {
    const operator = await Operator.open(MEMORY, 'bit.example', 'go.example');
    await fill(operator);
    const file = `${path()}.csv`;
    await writeFile(`${file}.part`, 'of somebody else');
    const other = new Operator(operator.database);
    operator.onExport = async () => void (await other.export('-o', file));
    await operator.export('-o', file);
    expect(await readFile(file, 'utf8')).toBe(await other.export());
    expect(await readFile(`${file}.part`, 'utf8')).toBe('of somebody else');
    const parts = (await readdir(dirname(file))).filter((name) => name.endsWith('.part'));
    expect(parts).toEqual([basename(`${file}.part`)]);
  });

  test('that fails leaves the old file as it was, and no part of the new one', async () => {
    const operator = await Operator.open(MEMORY);
    const file = `${path()}.csv`;
    await writeFile(file, 'old');
    operator.onExport = () => Promise.reject(new CommandFailed('the database is gone'));
    expect(await operator.run('links', 'export', '-o', file)).toBe(1);
    expect(await readFile(file, 'utf8')).toBe('old');
    expect((await readdir(dirname(file))).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  test.each([
    ['.none/links.csv', 'its folder does not exist'],
    ['.folder', 'it is a folder'],
  ])('into %s says why it can not be written', async (name, why) => {
    const operator = await Operator.open(MEMORY);
    await mkdir(`${path()}.folder`);
    const file = path() + name;
    expect(await operator.run('links', 'export', '-o', file)).toBe(1);
    expect(operator.err.at(-1)).toBe(`error: ${file}: ${why}`);
  });

  test('follows a symbolic link, and fails where its last bytes find no room', async () => {
    const operator = await Operator.open(MEMORY, 'bit.example', 'go.example');
    await fill(operator);
    const real = await fileOf('real.csv', 'before');
    const link = `${real}.link`;
    await symlink(real, link);
    expect(await operator.run('links', 'export', '-o', link), operator.err.join('\n')).toBe(0);
    expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect(await readFile(real, 'utf8')).toContain('https://');
    // A device that is always full. Fewer bytes than a stream buffers are written only at the end.
    const full = `${real}.full`;
    await symlink('/dev/full', full);
    expect(await operator.run('links', 'export', '-o', full)).toBe(1);
    expect(operator.err.join('\n')).toContain(`${full}: ENOSPC`);
    expect((await lstat(full)).isSymbolicLink()).toBe(true);
  });

  test('makes the file that a symbolic link leads to', async () => {
    const operator = await Operator.open(MEMORY);
    await mkdir(`${path()}.folder`);
    await symlink(`${path()}.folder`, `${path()}.elsewhere`);
    const links = [`${path()}.elsewhere/1`, `${path()}.2`];
    await symlink('../new.csv', `${path()}.elsewhere/1`);
    await symlink(links[0] ?? '', links[1] ?? '');
    expect(await operator.run('links', 'export', '-o', links[1] ?? '')).toBe(0);
    for (const link of links) expect((await lstat(link)).isSymbolicLink()).toBe(true);
    expect(await readFile(join(path(), '..', 'new.csv'), 'utf8')).toContain('code,');
    await symlink('round', join(path(), '..', 'round'));
    expect(await operator.run('links', 'export', '-o', join(path(), '..', 'round'))).toBe(1);
    expect(operator.err.join('\n')).toContain('ELOOP');
  });

  test('never replaces a database, under whatever name', async () => {
    const operator = await Operator.open(`sqlite:${path()}`);
    // Holds what belongs to the database beside it, as a running server does.
    const store = await openSqliteStore({ path: path(), publicUrl: 'https://sho.rt' });
    await symlink(path(), `${path()}.symbolic`);
    await link(path(), `${path()}.hard`);
    await copyFile(path(), `${path()}.backup`);
    // It may be empty at the moment.
    await writeFile(`${path()}-journal`, '');
    const names = ['', '.symbolic', '.hard', '.backup', '-wal', '-shm', '-journal'];
    for (const name of names) {
      const file = path() + name;
      expect(await operator.run('links', 'export', '-o', file), file).toBe(1);
      expect(operator.err.join('\n')).toContain('is a database or another binary file');
    }
    await store.close();
    expect(await operator.links()).toEqual([]);
  });
});
