// Publishes the built packages to the registry of npm: pnpm release:publish. The release workflow runs it.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PUBLISHED, ROOT, releaseProblems } from './manifests.ts';
import { run } from './processes.ts';

/**
 * Packs the built packages and publishes them, each after the ones it depends on. pnpm packs, since it writes the versions of our own
 * packages into the manifests; npm publishes, since a registry can trust it without a stored token.
 *
 * @param flags - more flags of `npm publish`
 */
export async function publishAll(
  flags: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-publish-'));
  try {
    for (const name of PUBLISHED) {
      const target = join(folder, name);
      const pack = ['-y', 'pnpm@12', 'pack', '--pack-destination', target];
      await run('npx', pack, { cwd: join(ROOT, name), env });
      const [tarball = ''] = await readdir(target);
      await run('npm', ['publish', join(target, tarball), ...flags], { cwd: folder, env });
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
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
    await publishAll(['--access', 'public', '--provenance']);
  }
}
