// What `pnpm mutants` keeps of its runs: the score of each folder, and the mutants that survive, with the reasons.
import { existsSync, readFileSync } from 'node:fs';

interface Mutant {
  mutatorName: string;
  replacement?: string;
  status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'Ignored' | 'RuntimeError';
  location: Record<'start' | 'end', { line: number; column: number }>;
}

interface Report {
  files: Record<string, { source: string; mutants: Mutant[] }>;
}

/** A mutant that no test notices. */
interface Survivor {
  file: string;
  line: string;
  code: string;
  becomes: string;
  /** Why no test can notice it; empty where nobody has looked yet. */
  why: string;
}

export interface FolderResult {
  date: string;
  killed: number;
  timeout: number;
  survived: number;
  noCoverage: number;
  survivors: Survivor[];
  /** What a reader must know of the figures. */
  note?: string;
}

export type Folders = Record<string, FolderResult>;

/** Reads Stryker's report of the last runs, and keeps the reasons of the survivors that are still there. */
export function resultOf(path: string, before: FolderResult | undefined): FolderResult | undefined {
  if (!existsSync(path)) return before;
  const report: Report = JSON.parse(readFileSync(path, 'utf8'));
  const mutants = Object.entries(report.files).flatMap(([file, { source, mutants: ofFile }]) =>
    ofFile.map((mutant) => ({ ...mutant, file, source: source.split('\n') })),
  );
  const count = (status: Mutant['status']) =>
    mutants.filter((mutant) => mutant.status === status).length;
  const survivors = mutants
    .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
    .sort((a, b) => a.location.start.line - b.location.start.line)
    .sort((a, b) => a.file.localeCompare(b.file))
    .map(({ file, source, location: { start, end }, replacement = '' }): Survivor => {
      const text = source[start.line - 1] ?? '';
      const last = start.line === end.line ? end.column - 1 : undefined;
      const code = text.slice(start.column - 1, last) + (last === undefined ? ' ...' : '');
      const line = text.trim();
      const becomes = replacement.replaceAll(/\s+/g, ' ').slice(0, 100);
      const known = before?.survivors.find(
        (old) =>
          old.file === file && old.line === line && old.code === code && old.becomes === becomes,
      );
      return { file, line, code, becomes, why: known?.why ?? '' };
    });
  return {
    date: new Date().toISOString().slice(0, 10),
    killed: count('Killed'),
    timeout: count('Timeout'),
    survived: count('Survived'),
    noCoverage: count('NoCoverage'),
    survivors,
  };
}

/** The share of mutants that the tests notice, in percent. */
export function scoreOf({ killed, timeout, survived, noCoverage }: FolderResult): number {
  return (100 * (killed + timeout)) / (killed + timeout + survived + noCoverage);
}

/** The page that lists the survivors. */
export function pageOf(folders: Folders): string {
  const rows = Object.entries(folders).map(
    ([name, result]) =>
      `| \`${name}\` | ${scoreOf(result).toFixed(1)}% | ${result.killed} | ${result.timeout} | ${result.survived} | ${result.noCoverage} | ${result.date} |`,
  );
  const code = (text: string) => `\`${text.replaceAll('`', "'").replaceAll('|', '\\|')}\``;
  const lists = Object.entries(folders).map(([name, { survivors, note }]) => {
    const items = survivors.map(
      ({ file, line, code: from, becomes, why }) =>
        `| ${file.slice(file.lastIndexOf('/') + 1)}: ${code(line)} | ${code(from)} → ${code(becomes)} | ${why || '**not looked at yet**'} |`,
    );
    return [
      `## ${name}`,
      '',
      ...(note === undefined ? [] : [note, '']),
      '| line | change | why no test notices it |',
      '|---|---|---|',
      ...items,
      '',
    ];
  });
  return [
    '# Mutants that survive',
    '',
    `Written by \`pnpm mutants --write\` with Stryker; the reasons are in \`src/mutants.json\`. A mutant is a small change of the code, such as \`<\` to \`<=\`. The tests kill it where one of them fails.`,
    `Not counted are changes of strings: most are messages, and the compiler notices the others.`,
    '',
    '| folder | score | killed | timeout | survived | no test runs it | date |',
    '|---|---|---|---|---|---|---|',
    ...rows,
    '',
    ...lists.flat(),
  ].join('\n');
}
