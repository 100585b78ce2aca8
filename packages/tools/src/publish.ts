// Stages the built packages at the registry of npm, where a person approves them: pnpm release:publish. The release workflow runs it.
// With --approved, fails with a sentence unless the registry serves every package.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PUBLISHED, ROOT, readManifest, releaseProblems } from './manifests.ts';
import { run } from './processes.ts';

/**
 * Packs the built packages and publishes them, each after the ones it depends on. pnpm packs, since it writes the versions of our own
 * packages into the manifests; npm publishes, since a registry can trust it without a stored token. A package whose version is there
 * already is left out, so that a job that was cut off can run again.
 *
 * @param command - the command of npm with its flags: `publish`, or `stage publish`, which waits for a person
 */
export async function publishAll(
  command: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-publish-'));
  try {
    for (const name of PUBLISHED) {
      if (await isPublished(name, env)) continue;
      const target = join(folder, name);
      const pack = ['-y', 'pnpm@12', 'pack', '--pack-destination', target];
      await run('npx', pack, { cwd: join(ROOT, name), env });
      const [tarball = ''] = await readdir(target);
      await run('npm', [...command, join(target, tarball)], { cwd: folder, env });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Whether the registry serves the version of this package that stands in the repository. */
async function isPublished(folder: string, env: NodeJS.ProcessEnv): Promise<boolean> {
  const { name, version } = await readManifest(folder);
  const view = run('npm', ['view', `${name}@${version}`, 'version'], { cwd: ROOT, env });
  // npm fails where it doesn't know the package, and prints nothing where it doesn't know the version.
  return (await view.catch(() => '')).trim() === version;
}

/** The packages that nobody can install yet, as sentences. */
export async function waitingPackages(env: NodeJS.ProcessEnv = process.env): Promise<string[]> {
  const waiting: string[] = [];
  for (const folder of PUBLISHED) {
    const { name, version } = await readManifest(folder);
    if (await isPublished(folder, env)) continue;
    waiting.push(`${name}@${version} is not at npm. Approve it there first: npm stage list`);
  }
  return waiting;
}

if (import.meta.main && process.argv.includes('--approved')) {
  const waiting = await waitingPackages();
  for (const sentence of waiting) console.error(sentence);
  if (waiting.length > 0) process.exitCode = 1;
} else if (import.meta.main) {
  const problems = await releaseProblems();
  if (process.env['GITHUB_ACTIONS'] !== 'true') {
    problems.push(
      'Only the release workflow publishes: the registry trusts it, and stores no token.',
    );
  }
  if (problems.length > 0) {
    console.error(['There is no release:', ...problems].join('\n'));
    process.exitCode = 1;
  } else {
    await publishAll(['stage', 'publish', '--access', 'public', '--provenance']);
  }
}
