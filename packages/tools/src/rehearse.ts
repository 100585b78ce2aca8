// Rehearses a release: pnpm release:rehearse
//
// Publishes the built packages to a registry on this machine, installs them from it as users do, and runs the examples of their
// READMEs on each version of Node that is supported. Everything is in a temporary folder and on 127.0.0.1, and is taken down at the end.
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { codeBlocks } from '../../e2e/src/code-blocks.ts';
import { PUBLISHED } from './manifests.ts';
import { run, start, stop, stopAll } from './processes.ts';
import { publishAll } from './publish.ts';

/** Installed only when this program runs, since it would make the installation of the workspace longer for everybody. */
const REGISTRY = {
  private: true,
  dependencies: { verdaccio: '6.10.4' },
  // One of its packages asks for the tag `cjs`, which mirrors of the registry don't have.
  overrides: { 'node-fetch': '2.7.0' },
};
const YARN = '@yarnpkg/cli-dist@4.18.1';
/** Longest time until the registry answers. */
const REGISTRY_LIMIT_MS = 2 * 60_000;

const resolve = (specifier: string) => fileURLToPath(import.meta.resolve(specifier));
const NODES = {
  'Node 22': resolve('node22/bin/node'),
  'Node 24': process.execPath,
  'Node 26': resolve('node26/bin/node'),
};
const NAMES = PUBLISHED.map((folder) => folder.replace('packages', '@shortlink'));
const MANAGERS: Record<string, [string, ...string[]]> = {
  npm: ['npm', 'install', '--no-audit', '--no-fund'],
  pnpm: ['npx', '-y', 'pnpm@12', '--config.minimum-release-age=0', 'add'],
  yarn: ['npx', '-y', '--package', YARN, 'yarn', 'add'],
  bun: [resolve('bun/bin/bun.exe'), 'add'],
};

const folder = await mkdtemp(join(tmpdir(), 'shortlink-rehearsal-'));
const end = async () => {
  stopAll();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
};
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => void end().then(() => process.exit(130)));
}

try {
  const { url, env } = await startRegistry();
  await step('publish', () =>
    publishAll(['publish', '--provenance=false', '--registry', url], env),
  );
  for (const [manager, [file, ...args]] of Object.entries(MANAGERS)) {
    const project = join(folder, manager);
    await mkdir(project);
    await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
    if (manager === 'yarn') await writeFile(join(project, 'yarn.lock'), '');
    await step(`install with ${manager}`, () =>
      run(file, [...args, ...NAMES], { cwd: project, env }),
    );
    for (const [name, node] of Object.entries(NODES)) {
      await step(`the READMEs' examples, ${name}`, () => runExamples(project, node, env));
    }
  }
} finally {
  await end();
}

/** Starts an empty registry that fetches all packages but ours from the registry of npm. */
async function startRegistry() {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const config = join(folder, 'registry.yaml');
  await writeFile(
    config,
    `storage: ${join(folder, 'registry')}
uplinks: { npmjs: { url: '${(await run('npm', ['config', 'get', 'registry'], { cwd: folder, env: process.env })).trim()}' } }
packages:
  '@shortlink/*': { access: $all, publish: $all }
  '**': { access: $all, proxy: npmjs }
web: { enable: false }
log: { type: stdout, level: error }
`,
  );
  const home = join(folder, 'home');
  await mkdir(home);
  await writeFile(
    join(home, '.npmrc'),
    `registry=${url}\n//127.0.0.1:${port}/:_authToken=rehearsal\n`,
  );
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    HOME: home,
    CI: '1',
    npm_config_userconfig: join(home, '.npmrc'),
    npm_config_registry: url,
    npm_config_store_dir: join(folder, 'pnpm-store'),
    BUN_CONFIG_REGISTRY: url,
    YARN_NPM_REGISTRY_SERVER: url,
    YARN_UNSAFE_HTTP_WHITELIST: '127.0.0.1',
    YARN_NODE_LINKER: 'node-modules',
    YARN_ENABLE_IMMUTABLE_INSTALLS: '0',
    YARN_NPM_MINIMAL_AGE_GATE: '0',
  };
  const program = join(folder, 'verdaccio');
  await mkdir(program);
  await writeFile(join(program, 'package.json'), JSON.stringify(REGISTRY));
  const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts'];
  await step('install the registry', () => run('npm', install, { cwd: program, env: process.env }));
  const main = join(program, 'node_modules/verdaccio/bin/verdaccio');
  const listen = ['--config', config, '--listen', `127.0.0.1:${port}`];
  const child = start(process.execPath, [main, ...listen], {
    cwd: program,
    env: process.env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  await step(`start it on port ${port}`, async () => {
    const deadline = Date.now() + REGISTRY_LIMIT_MS;
    while (!(await fetch(`${url}-/ping`).catch(() => undefined))?.ok) {
      if (child.exitCode !== null) throw new Error('the registry has ended');
      if (Date.now() > deadline) throw new Error('the registry does not answer');
      await new Promise((done) => setTimeout(done, 250));
    }
  });
  return { url, env };
}

/** Runs what the installed READMEs show, against the installed server. */
async function runExamples(project: string, node: string, env: NodeJS.ProcessEnv): Promise<void> {
  const installed = (name: string, path: string) => join(project, 'node_modules', name, path);
  const program = installed('@shortlink/server', 'dist/main.js');
  const args = 'start --dev --port 0 --database sqlite::memory:'.split(' ');
  const server = start(node, [program, ...args], {
    cwd: project,
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    let [url, key] = ['', ''];
    if (server.stdout === null) throw new Error('the server has no output');
    for await (const line of createInterface({ input: server.stdout })) {
      key ||= /\b(sl_\w+)/.exec(line)?.[1] ?? '';
      url = /^listening on (\S+)$/.exec(line)?.[1] ?? '';
      if (url !== '' && key !== '') break;
    }
    const own = { ...env, SHORTLINK_BASE_URL: url, SHORTLINK_API_KEY: key };
    for (const name of ['@shortlink/sdk', '@shortlink/server']) {
      const [example] = await examplesOf(installed(name, 'README.md'), 'ts');
      const code = example?.replace('YOUR_KEY', key).replace('https://go.example.com', url) ?? '';
      await writeFile(join(project, 'example.ts'), code);
      const printed = await run(node, ['example.ts'], { cwd: project, env: own });
      if (!printed.includes('http://'))
        throw new Error(`the example of ${name} printed: ${printed}`);
    }
    const links = 'url\nhttps://example.com/a\nhttps://example.com/b\n';
    await writeFile(join(project, 'links.csv'), links);
    const shell = (await examplesOf(installed('@shortlink/cli', 'README.md'), 'sh')).join('\n');
    const commands = shell.match(/^shortlink (create|import) [^\s-]\S*(?=\s*(#|$))/gm) ?? [];
    if (commands.length < 2) throw new Error('the README of @shortlink/cli has no commands to run');
    for (const command of new Set(commands)) {
      const words = command.split(' ').slice(1);
      await run(node, [installed('@shortlink/cli', 'dist/main.js'), ...words], {
        cwd: project,
        env: own,
      });
    }
    // Fails where a statement of the protocol does.
    await run(node, [installed('@shortlink/conformance', 'dist/main.js')], {
      cwd: project,
      env: own,
    });
    const results = await readFile(join(project, 'links.csv.results.csv'), 'utf8');
    if (results.split(',created,').length !== 3) throw new Error(`the results are:\n${results}`);
    for (const file of ['links.csv.results.csv', 'links.csv.shortlink-journal']) {
      await rm(join(project, file), { force: true });
    }
  } finally {
    stop(server);
  }
}

async function examplesOf(readme: string, language: string): Promise<string[]> {
  const blocks = codeBlocks(await readFile(readme, 'utf8'));
  return blocks.filter((block) => block.language === language).map(({ code }) => code);
}

async function step(what: string, act: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await act();
  console.log(`${what}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

function freePort(): Promise<number> {
  return new Promise((found) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => found(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
