import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import ts from 'typescript';

/** A function or a file, with its lines of code. */
export interface Measured {
  name: string;
  lines: number;
}

export interface Measures {
  files: Measured[];
  functions: Measured[];
}

const IS_LEFT_OUT = /^(node_modules|dist|fixtures|artifacts|test|data)$/;
const IS_TEST = /\.(test|test-d|test-suite|config)\.ts$/;

/** Measures the code of a folder, without its tests. */
export function measureFolder(root: string, folder: string): Measures {
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
    // A token. What stands between tokens is comments and white space.
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
    const lines = [...codeLines].filter((line) => line >= first && line <= last).length;
    return { name: `${name}:${first + 1}`, lines };
  });
  return { files: [{ name, lines: codeLines.size }], functions };
}
