/** What share of the product's statements a simulation executes, by folder. */
import { readFileSync, writeFileSync } from 'node:fs';
import { glob, readFile } from 'node:fs/promises';
import { type Debugger, type Profiler, Session } from 'node:inspector';
import { stripTypeScriptTypes } from 'node:module';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from './patches.ts';

/** A file as a thread has run it, with what its simulation has changed in it. */
export interface RunScript {
  /** Below `packages/`. */
  file: string;
  code: string;
  functions: Profiler.FunctionCoverage[];
}

/** Statements of a file, and whether each was executed. */
type Statements = boolean[];

/** Files whose share stands apart from that of their folder. */
const APART = ['server/http/fast-redirect.ts'];

/** A folder's folders count for themselves down to this depth. */
const DEPTH = 3;

/** By how much a share may fall, in percent: some of PostgreSQL's own work comes when it likes. */
const TOLERANCE = 1;

const BUDGET = new URL('./coverage-budget.json', import.meta.url);

/** Begins to count in this thread. To be called before the programs are loaded. Returns what reads the counts. */
export function countStatements(): () => RunScript[] {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  return () => {
    const scripts: RunScript[] = [];
    session.post('Debugger.enable');
    session.post('Profiler.takePreciseCoverage', (_, { result }) => {
      for (const { url, scriptId, functions } of result) {
        const [file = ''] = url.slice(PACKAGES.length).split('?');
        if (!url.startsWith(PACKAGES) || !file.includes('/src/')) continue;
        const take = (
          _error: unknown,
          { scriptSource: code }: Debugger.GetScriptSourceReturnType,
        ) => scripts.push({ file, code, functions });
        session.post('Debugger.getScriptSource', { scriptId }, take);
      }
    });
    session.disconnect();
    return scripts;
  };
}

/**
 * Shares in percent of the statements that were executed, by folder, also of files that nothing has loaded.
 *
 * @param scripts - of all threads
 * @param packages - whose sources count
 */
async function sharesOf(
  scripts: readonly RunScript[],
  packages: readonly string[],
): Promise<Shares> {
  const isRun = new Set(scripts.map(({ file }) => file));
  const files = new Map<string, Statements>();
  for (const name of packages) {
    for await (const path of glob(`${name}/src/**/*.ts`, { cwd: new URL(PACKAGES) })) {
      if (/\.(test|test-suite|d)\.ts$/.test(path)) continue;
      if (isRun.has(path)) {
        files.set(path, []);
        continue;
      }
      const text = await readFile(new URL(path, PACKAGES), 'utf8');
      const code = stripTypeScriptTypes(text);
      files.set(path, await statementsOf({ file: path, code, functions: [] }));
    }
  }
  for (const script of scripts) {
    const before = files.get(script.file);
    if (before === undefined) continue;
    const now = await statementsOf(script);
    files.set(
      script.file,
      now.map((isExecuted, index) => isExecuted || before[index] === true),
    );
  }
  const folders = Map.groupBy(files, ([path]) => folderOf(path));
  const shares = [...folders].map(([folder, of]) => {
    const statements = of.flatMap(([, each]) => each);
    const executed = statements.filter(Boolean).length;
    return [
      folder,
      statements.length,
      Math.round((1_000 * executed) / statements.length) / 10,
    ] as const;
  });
  const some = shares.filter(([, count]) => count > 0).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(some.map(([folder, , share]) => [folder, share]));
}

async function statementsOf({ file, code, functions }: RunScript): Promise<Statements> {
  const [{ default: convert }, { parseAst }] = await Promise.all([
    import('ast-v8-to-istanbul'),
    import('vite'),
  ]);
  const url = new URL(file, PACKAGES).href;
  const ranges = [{ startOffset: 0, endOffset: code.length, count: 0 }];
  const never = [{ functionName: '', isBlockCoverage: true, ranges }];
  const coverage = { url, functions: functions.length === 0 ? never : functions };
  const map = await convert({ code, ast: parseAst(code) as never, coverage });
  const { s = {} } = map[fileURLToPath(url)] ?? {};
  return Object.values(s).map((count) => count > 0);
}

function folderOf(path: string): string {
  const name = path.replace('/src/', '/');
  return APART.includes(name) ? name : name.split('/').slice(0, -1).slice(0, DEPTH).join('/');
}

type Shares = Record<string, number>;

/**
 * Says which share of the statements was executed, and compares the shares with those that were written down, or writes them down.
 *
 * @returns whether no share has fallen
 */
export async function checkCoverage({
  command,
  scripts,
  packages,
  coverage,
  say,
}: {
  command: string;
  scripts: readonly RunScript[];
  packages: readonly string[];
  coverage: 'shown' | 'compared' | 'recorded';
  say: (line: string) => void;
}): Promise<boolean> {
  const shares = await sharesOf(scripts, packages);
  const budget = JSON.parse(readFileSync(BUDGET, 'utf8')) as Record<string, Shares>;
  if (coverage === 'recorded') {
    writeFileSync(BUDGET, `${JSON.stringify({ ...budget, [command]: shares }, undefined, 2)}\n`);
  }
  const least = coverage === 'compared' ? (budget[command] ?? {}) : {};
  let fallen = 0;
  for (const name of new Set([...Object.keys(shares), ...Object.keys(least)])) {
    const [share = 0, before = 0] = [shares[name], least[name]];
    const hasFallen = share < before - TOLERANCE;
    if (hasFallen) fallen += 1;
    say(
      `${name.padEnd(32)} ${share.toFixed(1).padStart(5)}%${hasFallen ? `, was ${before}%` : ''}`,
    );
  }
  if (coverage !== 'shown') say(`${fallen} shares of executed statements have fallen`);
  return fallen === 0;
}
