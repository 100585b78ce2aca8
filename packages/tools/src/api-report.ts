// Records what users of the built packages call and type, in packages/*/api/: pnpm api:update
// With --released, it also records that this is the surface of the version that is released.
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CompilerState,
  Extractor,
  ExtractorConfig,
  ExtractorLogLevel,
} from '@microsoft/api-extractor';
import { openApiDocument } from '../../server/openapi/document.ts';
import { ROOT } from './manifests.ts';
import { reportCommands } from './report-commands.ts';

/** The built declarations of every entry point, by the package that they are part of. */
const ENTRIES = {
  sdk: ['index', 'wire'],
  cli: [],
  server: ['index', 'testing', 'testing-msw', 'browser'],
  conformance: ['index'],
} as const;
type Package = keyof typeof ENTRIES;
const PACKAGES = Object.keys(ENTRIES) as Package[];

/** The hash of each package's reports as they were when a version was last released. */
const RELEASED = '.changeset/released-api.json';

/** Reports of what users of a package call or type, by the name of their file in its `api/`. */
export type Reports = Record<Package, Record<string, string>>;

/** Reads the surface of the built packages and of their commands. */
export async function reportSurface(): Promise<Reports> {
  const reports: Reports = { sdk: {}, cli: {}, server: {}, conformance: {} };
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-api-'));
  try {
    const entries = PACKAGES.flatMap((name) =>
      ENTRIES[name].map((entry) => ({ name, ...extractorConfig(name, entry, folder) })),
    );
    const [first] = entries;
    if (first === undefined) throw new Error('no entry point');
    const compilerState = CompilerState.create(first.config, {
      additionalEntryPoints: entries.map(({ config }) => config.mainEntryPointFilePath),
    });
    for (const { name, file, config } of entries) {
      Extractor.invoke(config, {
        compilerState,
        localBuild: true,
        messageCallback: (message) => {
          message.handled = true;
        },
      });
      reports[name][file] = await readFile(join(folder, file), 'utf8');
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  for (const [name, text] of Object.entries(reportCommands())) {
    reports[name as Package]['commands.txt'] = text;
  }
  reports.server['openapi.json'] = `${JSON.stringify(openApiDocument(), null, 2)}\n`;
  return reports;
}

function extractorConfig(name: Package, entry: string, folder: string) {
  const main = join(ROOT, `packages/${name}/dist/${entry}.d.ts`);
  const file = `${entry}.api.md`;
  const silent = { default: { logLevel: ExtractorLogLevel.None } };
  const compilerOptions = {
    target: 'es2023',
    lib: ['ES2023', 'DOM', 'DOM.Iterable', 'ESNext.Disposable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: ['node'],
    strict: true,
    skipLibCheck: true,
  };
  const config = ExtractorConfig.prepare({
    configObject: {
      mainEntryPointFilePath: main,
      projectFolder: join(ROOT, 'packages', name),
      compiler: { overrideTsconfig: { compilerOptions, include: [main] } },
      // Types that exported types consist of are public too, also those that are not exported.
      apiReport: {
        enabled: true,
        includeForgottenExports: true,
        reportFileName: file,
        reportFolder: folder,
        reportTempFolder: join(folder, 'temp'),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: 'lf',
      messages: {
        compilerMessageReporting: silent,
        extractorMessageReporting: silent,
        tsdocMessageReporting: silent,
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: join(ROOT, `packages/${name}/package.json`),
  });
  return { file, config };
}

/** Reads the reports that are committed. */
export async function readReports(root = ROOT): Promise<Reports> {
  const reports: Reports = { sdk: {}, cli: {}, server: {}, conformance: {} };
  for (const name of PACKAGES) {
    const folder = join(root, `packages/${name}/api`);
    for (const file of await readdir(folder)) {
      reports[name][file] = await readFile(join(folder, file), 'utf8');
    }
  }
  return reports;
}

export async function writeReports(reports: Reports, root = ROOT): Promise<void> {
  for (const name of PACKAGES) {
    const folder = join(root, `packages/${name}/api`);
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    for (const [file, text] of Object.entries(reports[name])) {
      await writeFile(join(folder, file), text);
    }
  }
}

/** Records that the committed reports are those of the version that is released. */
export async function writeReleased(root = ROOT): Promise<void> {
  const hashes = hashesOf(await readReports(root));
  await writeFile(join(root, RELEASED), `${JSON.stringify(hashes, null, 2)}\n`);
}

/** Packages whose committed reports differ from those of the last release although no changeset names the package. */
export async function undeclaredPackages(root = ROOT): Promise<string[]> {
  const released: Record<string, string> = JSON.parse(await readFile(join(root, RELEASED), 'utf8'));
  const hashes = hashesOf(await readReports(root));
  const files = (await readdir(join(root, '.changeset'))).filter((name) => name.endsWith('.md'));
  const changesets = await Promise.all(
    files.map((name) => readFile(join(root, '.changeset', name), 'utf8')),
  );
  return Object.entries(hashes)
    .filter(([name, hash]) => released[name] !== hash)
    .map(([name]) => name)
    .filter((name) => !changesets.some((text) => /^---$.*?^---$/ms.exec(text)?.[0].includes(name)));
}

function hashesOf(reports: Reports): Record<string, string> {
  return Object.fromEntries(
    PACKAGES.map((name) => {
      const text = JSON.stringify(Object.entries(reports[name]).toSorted());
      return [`@shortlink/${name}`, createHash('sha256').update(text).digest('hex')];
    }),
  );
}

if (import.meta.main) {
  await writeReports(await reportSurface());
  if (process.argv.includes('--released')) await writeReleased();
  for (const name of await undeclaredPackages()) {
    console.log(
      `The surface of ${name} has changed since the last release. Declare it: pnpm changeset`,
    );
  }
}
