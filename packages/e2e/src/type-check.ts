import { join } from 'node:path';
import ts from 'typescript';

/** A program that is in no file. */
export interface Snippet {
  /** Name for messages. */
  name: string;
  code: string;
  /** Line of its file on which it begins, from 1. */
  line: number;
}

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  moduleDetection: ts.ModuleDetectionKind.Force,
  types: [],
  strict: true,
  noEmit: true,
  skipLibCheck: true,
};

/** The declarations of the language and of packages, which no snippet changes. */
const declarations = new Map<string, ts.SourceFile | undefined>();

/**
 * Type-checks snippets as if each were a module in `folder`, from where it resolves packages. Returns one line per
 * mistake, with the place in the file that the snippet is from.
 */
export function typeCheck(snippets: readonly Snippet[], folder: string): string[] {
  const byPath = new Map(snippets.map((snippet, n) => [join(folder, `snippet-${n}.ts`), snippet]));
  const host = ts.createCompilerHost(OPTIONS);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (path) => byPath.has(path) || fileExists(path);
  host.readFile = (path) => byPath.get(path)?.code ?? readFile(path);
  host.getSourceFile = (path, version, ...rest) => {
    const snippet = byPath.get(path);
    if (snippet !== undefined) return ts.createSourceFile(path, snippet.code, version, true);
    if (!declarations.has(path)) declarations.set(path, getSourceFile(path, version, ...rest));
    return declarations.get(path);
  };
  const program = ts.createProgram([...byPath.keys()], OPTIONS, host);
  return ts.getPreEmitDiagnostics(program).map(({ file, start, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, '\n');
    const snippet = file && byPath.get(file.fileName);
    if (file === undefined || snippet === undefined) return text;
    const { line } = file.getLineAndCharacterOfPosition(start ?? 0);
    return `${snippet.name}:${snippet.line + line}: ${text}`;
  });
}
