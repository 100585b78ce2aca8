/**
 * Who may import whom, in the source of the three packages. Tests, benchmarks and examples may import anything.
 *
 *   sdk      index > client > resources > bulk > http > errors > wire
 *   cli      main > run > commands > import, output, config > the public entry of the SDK
 *   server   main > app, jobs, admin, store/<engine>;   http > domain, store.ts, @shortlink/sdk/wire
 */
const source = (path) => `^packages/${path}`;
const isTest = '\\.(test|test-d|test-suite)\\.ts$';
const npm = (...names) => `(^|/)node_modules/(${names.join('|')})/`;

/** Files below `from` (except those of `except`) must not import what matches `to`. */
const forbid = (name, from, to, comment, except = []) => ({
  name,
  comment,
  severity: 'error',
  from: { path: source(from), pathNot: [isTest, ...except.map(source)] },
  to: { path: to },
});

/** Layers of a folder, the highest first: none may import one above it. */
const layers = (folder, names) =>
  names.slice(1).map((name, index) => ({
    name: `${folder}: ${name}`,
    comment: `In ${folder} the arrows go ${names.join(' > ')}.`,
    severity: 'error',
    from: { path: source(`${folder}/${name}(\\.ts|/)`), pathNot: isTest },
    to: { path: source(`${folder}/(${names.slice(0, index + 1).join('|')})(\\.ts$|/)`) },
  }));

/** An entry point of the SDK, built or not. */
const sdkEntry = (name, file) => `^@shortlink/${name}$|${source(`sdk/(src|dist)/${file}`)}`;
const engines = source('server/src/store/(sqlite|postgres)/');

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no cycles',
      comment: 'Files that import each other can only be read together.',
      severity: 'error',
      from: { pathNot: isTest },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },

    ...layers('sdk/src', ['index', 'client', 'resources', 'bulk', 'http', 'errors', 'wire']),
    forbid('sdk: ky, p-retry', 'sdk/src', npm('ky', 'p-retry'), 'Only http/ sends and retries.', [
      'sdk/src/http/',
    ]),
    forbid('sdk: zod', 'sdk/src', npm('zod'), 'Shapes are checked in wire/ only.', [
      'sdk/src/wire/',
    ]),
    forbid('sdk: node', 'sdk/src', '^node:', 'The SDK runs in every runtime.'),

    ...layers('cli/src', ['main', 'run', 'commands', 'output', 'import']),
    forbid(
      'cli: sdk',
      'cli/src',
      `${source('server/')}|^@shortlink/server|${sdkEntry('sdk/wire', 'wire')}`,
      'The CLI uses the public entry of the SDK, and a server over HTTP only.',
    ),
    forbid(
      'cli: core',
      'cli/src/import',
      source('cli/src/(io|context)\\.ts'),
      'import/ returns data and events; commands/ and output/ show them.',
    ),
    forbid(
      'cli: commander',
      'cli/src',
      npm('commander'),
      'Only run, program and commands/ parse a command line.',
      ['cli/src/(run|program)\\.ts', 'cli/src/commands/'],
    ),
    forbid('cli: drawing', 'cli/src', npm('ora', 'cli-table3'), 'Only output/ draws.', [
      'cli/src/output/',
    ]),
    forbid('cli: zod', 'cli/src', npm('zod'), 'Only config/ checks shapes.', ['cli/src/config/']),
    forbid('cli: sqlite', 'cli/src', '^(node:)?sqlite$', 'Only the journal is a database.', [
      'cli/src/import/(journal/|check/existing-links)',
    ]),

    forbid(
      'server: sdk',
      'server/src',
      `${source('cli/')}|${sdkEntry('sdk', 'index')}`,
      'The server shares the wire contract with its clients: @shortlink/sdk/wire.',
    ),
    forbid(
      'server: engines',
      'server/src',
      engines,
      'Only main, index, open-store and testing/ name a concrete engine.',
      ['server/src/store/', 'server/src/(main|index|open-store)\\.ts', 'server/src/testing/'],
    ),
    forbid(
      'server: domain',
      'server/src/domain',
      `^node:|${npm('hono')}|${source('server/src/(store|http|jobs|admin)/')}`,
      'domain/ is pure rules.',
    ),
    forbid(
      'server: store',
      'server/src/store',
      source('server/src/(http|jobs|admin|app)'),
      'store/ imports domain/ and the wire contract only.',
    ),
    forbid('server: hono', 'server/src', npm('hono'), 'Only app and http/ know hono.', [
      'server/src/(app|service)\\.ts',
      'server/src/(http|analytics)/',
    ]),
    forbid(
      'server: sockets',
      'server/src',
      npm('@hono/node-server'),
      'Only serve and the test server open sockets.',
      ['server/src/(main|index|serve)\\.ts', 'server/src/testing/'],
    ),
    forbid('server: sqlite', 'server/src', '^(node:)?sqlite$', 'The driver stays in one engine.', [
      'server/src/store/sqlite/',
    ]),
    forbid('server: pg', 'server/src', npm('pg'), 'The driver stays in one engine.', [
      'server/src/store/postgres/',
    ]),
    forbid(
      'server: commander',
      'server/src',
      npm('commander'),
      'Only admin/ and settings parse a command line.',
      ['server/src/admin/', 'server/src/(main|settings)\\.ts'],
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
