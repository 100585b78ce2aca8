// The figures of the last measurements are kept in figures/*.json, and the documents that show them are filled from there.
//
//   pnpm bench sdk --write     measure, record, and fill the documents
//   pnpm figures               fill the documents from what is recorded
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import {
  formatSection,
  formatSizing,
  type Machine,
  type MeasuredSection,
  type Sizing,
} from './format.ts';

const FIGURES = new URL('../../figures/', import.meta.url);

/** What is recorded, by the name of its file: the sections of each suite, and what the end-to-end scripts measured. */
export interface Figures {
  sdk: MeasuredSection[];
  cli: MeasuredSection[];
  server: MeasuredSection[];
  sizing: Sizing;
}

/** The documents that show figures, by path, and the parts of them that are printed. */
const DOCUMENTS = {
  [fileURLToPath(new URL('../../README.md', import.meta.url))]: {
    sdk: ({ sdk }: Figures) => formatSections(sdk),
    cli: ({ cli }: Figures) => formatSections(cli),
    server: ({ server }: Figures) => formatSections(server),
  },
  [fileURLToPath(new URL('../../../docs/production/sizing.md', import.meta.url))]: {
    sizing: ({ sizing }: Figures) => formatSizing(sizing),
  },
};

/** The tables that a quiet machine has recorded. A busy one shows its other programs more than ours; only sizes don't mind. */
function formatSections(sections: readonly MeasuredSection[]): string {
  const isShown = ({ name, machine }: MeasuredSection) =>
    name === 'size' || machine.loadAverage <= 2 * machine.cores;
  return sections.filter(isShown).map(formatSection).join('\n');
}

/** Each document, as it is and as it must be with these figures. */
export async function printDocuments(figures: Figures) {
  return Promise.all(
    Object.entries(DOCUMENTS).map(async ([path, parts]) => {
      const committed = await readFile(path, 'utf8');
      let printed = committed;
      for (const [name, print] of Object.entries(parts)) {
        printed = fillPart(printed, name, print(figures).trimEnd());
      }
      return { path, committed, printed };
    }),
  );
}

/**
 * Replaces what stands between the comments `figures: name` and `end of figures`.
 *
 * @throws Error when the document has no such comments
 */
function fillPart(document: string, name: string, text: string): string {
  const begin = `<!-- figures: ${name} -->\n`;
  const [before, rest] = document.split(begin);
  const end = rest?.indexOf('<!-- end of figures -->') ?? -1;
  if (before === undefined || rest === undefined || end === -1) {
    throw new Error(`the document has no part for the figures "${name}"`);
  }
  return `${before}${begin}\n${text}\n\n${rest.slice(end)}`;
}

export async function readFigures(): Promise<Figures> {
  const read = async (name: string) =>
    JSON.parse(await readFile(new URL(`${name}.json`, FIGURES), 'utf8'));
  const [sdk, cli, server, sizing] = await Promise.all(
    ['sdk', 'cli', 'server', 'sizing'].map(read),
  );
  return { sdk, cli, server, sizing };
}

/**
 * Records sections in place of those of the same names, and fills the documents.
 *
 * @param order - the names of the suite's sections, in the order in which they are shown
 */
export async function recordSections(
  suite: string,
  order: readonly string[],
  sections: readonly MeasuredSection[],
): Promise<void> {
  const before = (await readRecorded<MeasuredSection[]>(suite)) ?? [];
  const names = sections.map(({ name }) => name);
  const all = [...before.filter(({ name }) => !names.includes(name)), ...sections];
  await record(
    suite,
    order.flatMap((name) => all.filter((section) => section.name === name)),
  );
}

/** Records a part of what the page about sizing shows, and fills the documents. */
export async function recordSizing<Part extends keyof Sizing>(
  part: Part,
  figures: Omit<Sizing[Part], 'machine'>,
  machine: Machine,
): Promise<void> {
  const before = await readRecorded<Sizing>('sizing');
  await record('sizing', { ...before, [part]: { machine, ...figures } });
}

async function readRecorded<Content>(name: string): Promise<Content | undefined> {
  const text = await readFile(new URL(`${name}.json`, FIGURES), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : JSON.parse(text);
}

async function record(name: string, content: unknown): Promise<void> {
  await mkdir(FIGURES, { recursive: true });
  // Four significant digits: the measurements are not more exact.
  const text = JSON.stringify(content, (_, value) => round(value), 2);
  await writeFile(new URL(`${name}.json`, FIGURES), `${text}\n`);
  await fillDocuments();
}

function round(value: unknown): unknown {
  const isFraction = typeof value === 'number' && !Number.isInteger(value);
  return isFraction ? Number(value.toPrecision(4)) : value;
}

async function fillDocuments(): Promise<void> {
  for (const { path, committed, printed } of await printDocuments(await readFigures())) {
    if (printed !== committed) await writeFile(path, printed);
  }
}

if (import.meta.main) await fillDocuments();
