/**
 * Who may import whom, in the source of the packages that are published. Tests, benchmarks and examples may import anything.
 *
 *   sdk      index > client > resources > bulk > http > errors > wire
 *   cli      main > start > run > run-command > commands > output > verify > import > the public entry of the SDK
 *   tables   imports no other package;   the cli reads with it, and the admin commands of the server
 *   conformance   main > index > run, reports;   it shares nothing with the others
 *   server   main > app, jobs, admin, store/<engine>;   http > domain, store.ts, @shortlink/sdk/wire
 */
const source = (path) => `^packages/${path}`;
const isTest = '\\.(test|test-d|test-suite)\\.ts$';
const npm = (...names) => `(^|/)node_modules/(${names.join('|')})/`;
const rule = (name, from, to) => ({ name, severity: 'error', from, to });

/** Layers of a package, the highest first: none may import one above it. */
const layers = (name, ...layer) =>
  layer
    .slice(1)
    .map((lower, index) =>
      rule(
        `${name}: the arrows go ${layer.join(' > ')}; ${lower} points up`,
        { path: source(`${name}/src/${lower}(\\.ts|/)`), pathNot: isTest },
        { path: source(`${name}/src/(${layer.slice(0, index + 1).join('|')})(\\.ts$|/)`) },
      ),
    );

/** Files of a package, or below one of its folders, must not import what matches `to`, except those that match `except`. */
const forbid = (folder, name, to, except) => {
  const [home, below = ''] = folder.split('/');
  const exempt = except ? [source(`${home}/src/(${except})`)] : [];
  const from = { path: source(`${home}/src/${below}`), pathNot: [isTest, ...exempt] };
  return rule(`${home}: ${name}`, from, { path: to });
};

/** An entry point of the SDK, built or not. */
const sdkEntry = (name, file) => `^@shortlink/${name}$|${source(`sdk/(src|dist)/${file}`)}`;
const toWire = `${source('server/')}|^@shortlink/server|${sdkEntry('sdk/wire', 'wire')}`;
const toClient = `${source('cli/')}|${sdkEntry('sdk', 'index')}`;
const toSqlite = '^(node:)?sqlite$';
const cli = (names) => source(`cli/src/(${names})`);
const server = (names) => source(`server/src/(${names})`);

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    rule(
      'no cycles: files that import each other can only be read together',
      { pathNot: isTest },
      { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    ),

    ...layers('sdk', 'index', 'client', 'resources', 'bulk', 'http', 'errors', 'wire'),
    forbid('sdk', 'only http/ sends and retries', npm('ky', 'p-retry'), 'http/'),
    forbid('sdk', 'shapes are checked in wire/ only', npm('zod'), 'wire/'),
    forbid('sdk', 'it runs in every runtime', '^node:'),

    ...layers('cli', 'main', 'run', 'run-command', 'commands', 'output', 'verify', 'import'),
    forbid('cli', 'it uses the public entry of the SDK, and a server over HTTP', toWire),
    forbid('cli/import', 'import/ returns events and prints nothing', cli('(io|context)\\.ts')),
    forbid('cli/verify', 'verify/ returns verdicts and prints nothing', cli('(io|context)\\.ts')),
    forbid(
      'cli',
      'only run-command, program and commands/ parse a command line',
      npm('commander'),
      '(run-command|program)\\.ts|commands/',
    ),
    forbid('cli', 'only output/ draws', npm('ora', 'cli-table3'), 'output/'),
    forbid('cli', 'only config/ checks shapes', npm('zod'), 'config/'),
    forbid('cli', 'only the journal is SQLite', toSqlite, 'import/journal/'),
    forbid('cli', 'only main and io know the process', '^(node:)?process$', '(main|io)\\.ts'),

    forbid('tables', 'it knows no program', '^@shortlink/|^packages/(sdk|cli|server|conformance)/'),

    forbid(
      'conformance',
      'a mistake of ours must not be shared',
      '^@shortlink/|^packages/(sdk|cli|server)/',
    ),
    forbid('conformance', 'it runs in every runtime', '^node:', 'main'),

    forbid('server', 'only admin/ reads tables', '^@shortlink/tables|^packages/tables/', 'admin/'),
    forbid('server', 'it shares @shortlink/sdk/wire with its clients, and no more', toClient),
    forbid(
      'server',
      'only main, index, open-store, testing/ and browser/ name an engine',
      server('store/(sqlite|postgres)/'),
      'store/|(main|index|open-store)\\.ts|testing/|browser/',
    ),
    forbid(
      'server/domain',
      'domain/ is pure rules',
      `^node:|${npm('hono')}|${server('(store|http|jobs|admin)/')}`,
    ),
    forbid('server/store', 'store/ knows domain/ and wire only', server('http|jobs|admin|app')),
    forbid(
      'server',
      'only what answers HTTP knows hono',
      npm('hono'),
      '(app|service|start-server)\\.ts|(http|analytics)/',
    ),
    forbid(
      'server',
      'only serve and the test server listen',
      npm('@hono/node-server'),
      '(main|index|serve)\\.ts|testing/',
    ),
    forbid('server', 'the SQLite driver stays in one engine', toSqlite, 'store/sqlite/'),
    forbid('server', 'only a page needs what Node brings', npm('sql\\.js', '@noble'), 'browser/'),
    forbid('server', 'the PostgreSQL driver stays in one engine', npm('pg'), 'store/postgres/'),
    forbid(
      'server',
      'only admin/ and settings parse a command line',
      npm('commander'),
      'admin/|(main|settings)\\.ts',
    ),
  ],
  options: {
    doNotFollow: { path: 'node_modules|/dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node'],
    },
  },
};
