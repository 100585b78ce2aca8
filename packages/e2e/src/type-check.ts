import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';
import { compiler } from './compilers.ts';
import { runProgram } from './run-program.ts';

/** A program that is in no file. */
export interface Snippet {
  /** Name for messages. */
  name: string;
  code: string;
  /** Line of its file on which it begins, from 1. */
  line: number;
}

/** Packages of the workspace resolve there as they do for their users, msw too. */
const PACKAGES = fileURLToPath(new URL('../node_modules', import.meta.url));

const CONFIG = {
  compilerOptions: {
    target: 'es2023',
    lib: ['es2023', 'esnext.disposable', 'dom', 'dom.iterable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    moduleDetection: 'force',
    types: [],
    strict: true,
    noEmit: true,
    skipLibCheck: true,
  },
};

/** Type-checks snippets as if each were a module. Resolves to one line per mistake, with the place in the file that the snippet is from. */
export async function typeCheck(snippets: readonly Snippet[]): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'shortlink-types-'));
  try {
    await symlink(PACKAGES, join(folder, 'node_modules'));
    await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(CONFIG));
    for (const [n, { code }] of snippets.entries()) {
      await writeFile(join(folder, `snippet-${n}.ts`), code);
    }
    const { stdout } = await runProgram(execPath, [compiler('7')], { cwd: folder });
    const lines = stdout.split('\n').filter((text) => /^\S/.test(text));
    return lines.map((text) =>
      text.replace(/^snippet-(\d+)\.ts\((\d+),\d+\)/, (_, n, row) => {
        const { name, line } = snippets[n] as Snippet;
        return `${name}:${line + Number(row) - 1}`;
      }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
