#!/usr/bin/env node
// Older Nodes must be able to run this file, which says which one is needed: it imports nothing at first, and its syntax is old.
const [MAJOR, MINOR] = [22, 13] as const;
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

if (major > MAJOR || (major === MAJOR && minor >= MINOR)) {
  import('./run.ts').then(async ({ start }) => {
    // What was written to a pipe must drain before the process ends.
    process.exitCode = await start(process.argv.slice(2));
  });
} else {
  const message = `shortlink needs Node ${MAJOR}.${MINOR} or later, and this is Node ${process.versions.node}.`;
  const event = { event: 'error', version: 1, error: { code: 'node', message, exit_code: 1 } };
  const isJson = process.argv.indexOf('--json') > 0;
  process.stderr.write(isJson ? `${JSON.stringify(event)}\n` : `error: ${message}\n`);
  process.exitCode = 1;
}
