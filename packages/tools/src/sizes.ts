// Prints how large the files and functions of each package are, and fails where they have grown past their ceilings.
//
//   pnpm sizes                 print everything
//   pnpm sizes --quiet         print only what is too large, as pnpm lint does
//   pnpm sizes --set           make what is reached now the ceiling
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { ROOT } from './manifests.ts';

/** The most that a folder may have of each. */
interface Ceiling {
  filesPer1000Lines: number;
  longestFunction: number;
  longestFile: number;
}

/** A function or a file, with its lines of code. */
interface Measured {
  name: string;
  lines: number;
}

interface Measures {
  files: Measured[];
  functions: Measured[];
}

const IS_LEFT_OUT = /^(node_modules|dist|fixtures|artifacts|test|data)$/;
const IS_TEST = /\.(test|test-d|test-suite|config)\.ts$/;

/** Measures the code of a folder, without its tests. */
function measureFolder(root: string, folder: string): Measures {
  const paths = globSync('**/*.{ts,js,mjs}', {
    cwd: join(root, folder),
    exclude: (path) => IS_LEFT_OUT.test(basename(path)),
  }).filter((path) => !IS_TEST.test(path));
  const measures = paths.map((path) =>
    measureText(join(folder, path), readFileSync(join(root, folder, path), 'utf8')),
  );
  return {
    files: measures.flatMap(({ files }) => files),
    functions: measures.flatMap(({ functions }) => functions),
  };
}

/** Measures one file. A line of code is a line that holds a token: comments and blank lines do not count. */
export function measureText(name: string, text: string): Measures {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const lineOf = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const codeLines = new Set<number>();
  const bodies: ts.Node[] = [];
  const visit = (node: ts.Node) => {
    // A token. Between tokens there are only comments and white space.
    if (node.getChildCount(source) === 0 && node.getWidth(source) > 0) {
      const last = lineOf(node.getEnd());
      for (let line = lineOf(node.getStart(source)); line <= last; line += 1) codeLines.add(line);
    }
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) bodies.push(node);
    for (const child of node.getChildren(source)) if (!ts.isJSDoc(child)) visit(child);
  };
  visit(source);
  const functions = bodies.map((node) => {
    const [first, last] = [lineOf(node.getStart(source)), lineOf(node.getEnd())];
    let lines = 0;
    for (let line = first; line <= last; line += 1) if (codeLines.has(line)) lines += 1;
    return { name: `${name}:${first + 1}`, lines };
  });
  return { files: [{ name, lines: codeLines.size }], functions };
}

const longest = (measured: readonly Measured[]) =>
  measured.reduce((a, b) => (b.lines > a.lines ? b : a));

/** @returns whether a folder has grown past its ceiling */
function checkSizes(): boolean {
  const { values } = parseArgs({
    options: {
      quiet: { type: 'boolean', default: false },
      set: { type: 'boolean', default: false },
      ceilings: {
        type: 'string',
        default: fileURLToPath(new URL('sizes.json', import.meta.url)),
      },
    },
  });
  const ceilings: Record<string, Ceiling> = JSON.parse(readFileSync(values.ceilings, 'utf8'));

  let hasGrown = false;
  for (const [folder, ceiling] of Object.entries(ceilings)) {
    const { files, functions } = measureFolder(ROOT, folder);
    const lines = files.reduce((sum, file) => sum + file.lines, 0);
    const [longestFunction, longestFile] = [longest(functions), longest(files)];
    const reached = {
      // Rounded up: a few lines less are no reason to merge files.
      filesPer1000Lines: Math.ceil((files.length / lines) * 1000),
      longestFunction: longestFunction.lines,
      longestFile: longestFile.lines,
    } satisfies Ceiling;
    if (values.set) ceilings[folder] = reached;
    const rows = [
      ['filesPer1000Lines', 'files per 1,000 lines', `${files.length} files, ${lines} lines`],
      ['longestFunction', 'lines of the longest function', longestFunction.name],
      ['longestFile', 'lines of the longest file', longestFile.name],
    ] as const;
    for (const [key, what, where] of rows) {
      const isTooLarge = !values.set && reached[key] > ceiling[key];
      hasGrown ||= isTooLarge;
      if (values.quiet && !isTooLarge) continue;
      const figures = `${reached[key]} of at most ${values.set ? reached[key] : ceiling[key]}`;
      console.log(`${folder}: ${what}: ${figures} (${where})${isTooLarge ? ' TOO LARGE' : ''}`);
    }
  }
  if (values.set) writeFileSync(values.ceilings, `${JSON.stringify(ceilings, null, 2)}\n`);
  return hasGrown;
}

if (import.meta.main && checkSizes()) {
  console.error('Split what is too large, or merge files that are only read together.');
  process.exitCode = 1;
}
