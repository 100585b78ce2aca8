// Writes the address of the repository, which the root package.json names, wherever else it is needed: pnpm metadata
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

/** Folders of the packages that are published, each after the ones it depends on. */
export const PUBLISHED = [
  'packages/sdk',
  'packages/cli',
  'packages/server',
  'packages/conformance',
] as const;

/** Files beside the manifests that name the repository as `owner/name`. */
export const MENTIONS: readonly string[] = [
  'examples/ci/apply-links.yml',
  'examples/ci/plan-links.yml',
  'packages/docs/importing/ci.md',
  'packages/docs/start/install.md',
  'README.md',
];

/** Files that name the address of the site. */
export const SITE_MENTIONS: readonly string[] = [
  'README.md',
  'packages/docs/cli/scripts.md',
  ...PUBLISHED.map((folder) => `${folder}/README.md`),
];

/** The page of the site that a package's readers begin with. */
const FIRST_PAGES: Record<(typeof PUBLISHED)[number], string> = {
  'packages/sdk': 'start/sdk',
  'packages/cli': 'start/cli',
  'packages/server': 'start/server',
  'packages/conformance': 'conformance',
};

/** Value of `repository` in the root manifest as long as nobody has decided where the repository lives. */
export const EXAMPLE_REPOSITORY = 'https://github.com/example/shortlink';

/** The fields of a package.json that the programs here read or write. */
export interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  keywords?: string[];
  files?: string[];
  repository?: { type: string; url: string; directory: string };
  homepage?: string;
  bugs?: { url: string };
  publishConfig?: { access: string; provenance: boolean };
}

/** Address of the repository, as the root manifest says it. Everything else that names it is derived from this value. */
export async function repositoryUrl(root = ROOT): Promise<string> {
  const { repository }: { repository: string } = JSON.parse(
    await readFile(`${root}/package.json`, 'utf8'),
  );
  return repository;
}

/** `owner/name` of a repository's address. */
export function slugOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

/** Where GitHub Pages serves the site of a repository. */
export function siteUrl(url: string): string {
  const [owner, name] = slugOf(url).split('/');
  return `https://${owner}.github.io/${name}/`;
}

/** The image of the server, which the release pushes under the repository's owner. */
function imageOf(url: string): string {
  return `ghcr.io/${slugOf(url).split('/')[0]}/shortlink-server`;
}

export async function readManifest(folder: string, root = ROOT): Promise<Manifest> {
  return JSON.parse(await readFile(`${root}/${folder}/package.json`, 'utf8'));
}

/** The fields of a published package that follow from the address of the repository. */
export function repositoryFields(url: string, folder: (typeof PUBLISHED)[number]) {
  return {
    homepage: `${siteUrl(url)}${FIRST_PAGES[folder]}`,
    bugs: { url: `${url}/issues` },
    repository: { type: 'git', url: `git+${url}.git`, directory: folder },
    publishConfig: { access: 'public', provenance: true },
  } satisfies Partial<Manifest>;
}

/** Writes the address of the repository into each published manifest and each file that names it. */
export async function spreadRepository(root = ROOT): Promise<void> {
  const url = await repositoryUrl(root);
  const before = (await readManifest(PUBLISHED[0], root)).bugs?.url.replace(/\/issues$/, '') ?? url;
  for (const folder of PUBLISHED) {
    const manifest = await readManifest(folder, root);
    const fields = repositoryFields(url, folder);
    const text = JSON.stringify({ ...manifest, ...fields }, null, 2);
    await writeFile(`${root}/${folder}/package.json`, `${text}\n`);
  }
  for (const file of new Set([...MENTIONS, ...SITE_MENTIONS])) {
    const text = await readFile(`${root}/${file}`, 'utf8');
    const moves = [siteUrl, imageOf, slugOf].map(
      (nameOf) => [nameOf(before), nameOf(url)] as const,
    );
    const moved = moves.reduce((now, [from, to]) => now.replaceAll(from, to), text);
    await writeFile(`${root}/${file}`, moved);
  }
}

/** The reasons why there can't be a release, as sentences. Empty when there are none. */
export async function releaseProblems(root = ROOT): Promise<string[]> {
  const url = await repositoryUrl(root);
  const manifests = await Promise.all(PUBLISHED.map((folder) => readManifest(folder, root)));
  const problems: string[] = [];
  if (url === EXAMPLE_REPOSITORY) {
    problems.push(
      `"repository" in package.json is still the example ${url}. Set it to the address of the repository, and run: pnpm metadata`,
    );
  }
  PUBLISHED.forEach((folder, index) => {
    const expected = JSON.stringify(repositoryFields(url, folder));
    const { homepage, bugs, repository, publishConfig } = manifests[index] ?? {};
    if (JSON.stringify({ homepage, bugs, repository, publishConfig }) !== expected) {
      problems.push(`${folder}/package.json does not name ${url}. Run: pnpm metadata`);
    }
  });
  const versions = new Set(manifests.map(({ version }) => version));
  if (versions.size > 1) {
    problems.push(`The packages have different versions: ${[...versions].join(', ')}.`);
  }
  return problems;
}

if (import.meta.main) await spreadRepository();
