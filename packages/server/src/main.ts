#!/usr/bin/env node
// This file says which Node is needed, so that older ones must be able to run it: it imports nothing at first, and its syntax is old.
const [MAJOR, MINOR] = [22, 13] as const;
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);

const { bun, deno }: Partial<Record<string, string>> = process.versions;
const other = bun ? 'Bun' : deno ? 'Deno' : '';

if (other !== '') {
  // It would start, and lose clicks at its end: signals don't reach it as in Node.
  process.stderr.write(
    `error: shortlink-server runs in Node ${MAJOR}.${MINOR} or later, and this is ${other}.\n`,
  );
  process.exitCode = 1;
} else if (major > MAJOR || (major === MAJOR && minor >= MINOR)) {
  import('./run-server.ts');
} else {
  const needed = `${MAJOR}.${MINOR}`;
  process.stderr.write(
    `error: shortlink-server needs Node ${needed} or later, and this is Node ${process.versions.node}.\n`,
  );
  process.exitCode = 1;
}
