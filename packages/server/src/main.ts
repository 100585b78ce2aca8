#!/usr/bin/env node
// This file says which Node is needed, so that older ones must be able to run it: it imports nothing at first, and its syntax is old.
const [MAJOR, MINOR] = [22, 13] as const;
const { node, bun, deno }: Partial<Record<string, string>> = process.versions;
const [major = 0, minor = 0] = (node || '').split('.').map(Number);
// Bun and Deno could start the server too, but their signals don't reach it, so that it would lose clicks at its end.
const other = bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : '';

if (other === '' && (major > MAJOR || (major === MAJOR && minor >= MINOR))) {
  import('./run-server.ts');
} else {
  const needed = `${MAJOR}.${MINOR}`;
  process.stderr.write(
    `error: shortlink-server needs Node ${needed} or later, and this is ${other || `Node ${node}`}.\n`,
  );
  process.exitCode = 1;
}
