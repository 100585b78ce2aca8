import { join } from 'node:path';
import ts from 'typescript';

const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  types: [],
  strict: true,
};

/** The declarations of the language and of packages, which are read and parsed for the first program. */
const registry = ts.createDocumentRegistry();
let programs = 0;

/** What an editor shows of one program. */
export interface Editor {
  /** The names that are offered at the `|` of the program, in alphabetical order. */
  completions: string[];
  /** The first line of each mistake, without the `|`. */
  mistakes: string[];
}

/**
 * Opens a program in TypeScript's language service, as an editor does, in this folder: packages resolve from here.
 *
 * @param program has one `|` where the cursor is
 */
export function openInEditor(program: string): Editor {
  const path = join(import.meta.dirname, 'in-editor.ts');
  const cursor = program.indexOf('|');
  const code = program.replace('|', '');
  programs += 1;
  const version = String(programs);
  const host: ts.LanguageServiceHost = {
    getCompilationSettings: () => OPTIONS,
    getScriptFileNames: () => [path],
    getScriptVersion: (name) => (name === path ? version : '1'),
    getScriptSnapshot: (name) => {
      const text = name === path ? code : ts.sys.readFile(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => import.meta.dirname,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === path || ts.sys.fileExists(name),
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    realpath: (name) => ts.sys.realpath?.(name) ?? name,
  };
  const service = ts.createLanguageService(host, registry);
  const found = cursor < 0 ? undefined : service.getCompletionsAtPosition(path, cursor, {});
  return {
    completions: (found?.entries ?? []).map(({ name }) => name.replace(/\?$/, '')).toSorted(),
    mistakes: service
      .getSemanticDiagnostics(path)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
  };
}
