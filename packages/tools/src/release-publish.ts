// Publishes the built packages to the registry of npm: pnpm release:publish. The release workflow runs it.
import { releaseProblems } from './manifests.ts';
import { publishAll } from './publish.ts';

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
