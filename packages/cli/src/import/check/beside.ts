import { readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { InputError, inputError } from '@shortlink/tables/basics';
import { formatCount } from '../../format.ts';
import { isStream } from '../is-stream.ts';
import type { JournalLink } from '../journal/batches.ts';
import { isJournal, JOURNAL_NAME } from '../journal/file.ts';
import type { Journal } from '../journal/journal.ts';
import { peekJournal } from '../journal/open-journal.ts';
import type { ClaimOfLink } from '../map/result-columns.ts';
import type { ImportDeps, ImportSettings } from '../types.ts';
import type { Ask } from './ask-service.ts';
import type { ImportSource } from './check-input.ts';
import { sourceOfFile } from './evidence-sql.ts';
import { headOf, isFilled, readLinks } from './read-links.ts';

/** The journal of standard input, which is there only where the import of the same rows was not completed. */
const STDIN_JOURNAL = /^stdin-[0-9a-f]+\.shortlink-journal$/;

/** Files that may be results, whatever their names, and those that an import has kept because a person had changed them; not what Excel and macOS keep beside. */
const TABLE = /^(?!~\$|\._).*\.(?:csv|tsv|txt|jsonl|ndjson|xlsx)(?:\.gz)?(?:\.old\d*|\.bak|~)?$/i;

/** The end of the names of a journal and of results. Before it stands the name of their input. */
const BESIDE_INPUT = /\.(?:shortlink-journal|results\.\w+)$/;

/** A longer header is not recognised in a file with the name of no table. */
const HEADER_BYTES = 4_096;

/** The names of results in a first line, in any order and however they were retyped, also as keys of JSON. */
const RESULTS_NAMES = /^(?=.*\bcode\b)(?=.*\bshort.?url\b)(?=.*\bstatus\b)(?=.*\berror\b)/i;

/** Files of a folder that are looked at. */
const MAX_FILES = 1_000;

/**
 * The other journals and tables in the folders of an input, of its journal and of what an import writes: next week's export, or a
 * corrected rejects file that was imported by itself, has another name. An input may be opened by a link from another folder.
 */
export async function filesBeside(
  { file, output, rejects, known = [], others = [], earlier = [] }: ImportSettings,
  journal: Pick<Journal, 'path' | 'hasLinks'>,
  { onEvent }: Pick<ImportDeps, 'onEvent'>,
) {
  const real = await realpath(file).catch(() => file);
  const written = [output, rejects].filter((path) => !isStream(path));
  const ours = await Promise.all([journal.path, file, real, ...written].map(placeOf));
  const own = new Set([...ours, ...(await Promise.all([...known, ...others].map(placeOf)))]);
  const folders = new Set(ours.map((path) => dirname(path)));
  // With `--restart`, other links than those of the journal before were wanted.
  const isSetAside = (path: string) => journal.hasLinks() && path.startsWith(`${ours[0]}.old`);
  const found = [...others];
  const isStreamed = isStream(file);
  for (const folder of folders) {
    const names = await readdir(folder).catch(() => []);
    const isEvidence = (name: string) =>
      isStreamed ? STDIN_JOURNAL.test(name) : JOURNAL_NAME.test(name) || TABLE.test(name);
    const paths = names.filter(isEvidence).sort();
    if (paths.length > MAX_FILES) {
      const message = `${folder} has ${formatCount(paths.length)} tables, of which ${formatCount(MAX_FILES)} were searched for links of these rows.`;
      onEvent({ type: 'warning', message });
    }
    const others = isStreamed ? [] : names.filter((name) => !isEvidence(name)).sort();
    for (const name of [...paths.slice(0, MAX_FILES), ...others.slice(0, MAX_FILES)]) {
      const path = join(folder, name);
      const isOther = own.has(path) || isSetAside(path) || !(await isFilled(path));
      if (!isOther && (isEvidence(name) || kindOf(path) !== undefined)) found.push(path);
    }
  }
  for (const path of await Promise.all(earlier.map(placeOf))) {
    if (!own.has(path) && !found.includes(path) && (await isFilled(path))) found.push(path);
  }
  return found;
}

/** A journal that was named by `--journal`, kept by `--restart` or copied; or results that `-o` has given the name of no table. */
function kindOf(path: string): 'journal' | 'results' | undefined {
  try {
    if (isJournal(path)) return 'journal';
    const head = headOf(path, HEADER_BYTES);
    if (RESULTS_NAMES.test(head) && !/\.(?:partial|whole)$/.test(path)) return 'results';
  } catch {
    // What can't be read names nothing.
  }
  return undefined;
}

/** A path without symbolic links, but for that of the file itself: a folder may have two names. */
async function placeOf(path: string): Promise<string> {
  const folder = dirname(resolve(path));
  return join(await realpath(folder).catch(() => folder), basename(path));
}

/** What to do if one of these journals is that of a file that was renamed: it can settle what it has left open. Journals of other sheets of the file are left out. */
export async function renamedHint(names: readonly string[], file: string): Promise<string> {
  for (const name of isStream(file) ? [] : names.filter((one) => JOURNAL_NAME.test(one))) {
    const owner = join(dirname(await placeOf(file)), name.replace(JOURNAL_NAME, ''));
    if ((await isFilled(owner)) || name.startsWith(`${basename(file)}.`)) continue;
    const path = join(dirname(file), name);
    return ` If that file was renamed to this one: --journal ${path.includes(' ') ? JSON.stringify(path) : path}`;
  }
  return '';
}

type AskOfInput = Ask & { source: Pick<ImportSource, 'layout'> };

/** Adds the links that these files name. Resolves to the names of files that know rows which seemed to be new. */
export async function readBeside(paths: readonly string[], ask: AskOfInput): Promise<string[]> {
  const { evidence, settings } = ask;
  const names: string[] = [];
  let before = 0;
  const folder = dirname(await placeOf(settings.file));
  const inputs = paths.map((path) => path.replace(BESIDE_INPUT, ''));
  for (const [n, path] of paths.entries()) {
    const { nextOther } = evidence;
    const source = sourceOfFile(inputs.indexOf(inputs[n] ?? ''), n);
    await readOther(path, relative(folder, path), source, ask);
    // Most tables of a folder name no links, and comparing takes as long as reading the rows.
    if (evidence.nextOther === nextOther) continue;
    // Such links are sent again.
    if (settings.onUnknown === 'retry') evidence.releaseDoubts();
    await evidence.compare();
    const { lines } = evidence.similar();
    if (lines > before) names.push(relative(folder, path));
    before = lines;
  }
  return names;
}

/** @throws InputError for a file that seems to name links and can't be read */
async function readOther(path: string, name: string, source: number, ask: AskOfInput) {
  const { evidence, journal: own, settings, deps, source: input } = ask;
  const { plan, isOfLines: isTable } = input.layout;
  const isInput = settings.others?.includes(path) === true;
  try {
    if (!JOURNAL_NAME.test(path) && kindOf(path) !== 'journal') {
      const origins = [new URL(settings.baseUrl).origin, ...own.origins()];
      // Results of the same lines may have any name.
      const isOfLines = isTable || plan.format === 'jsonl';
      const file = { path, source, isOfLines, mayBeOther: true, origins, isInput };
      await readLinks(file, evidence, settings, deps);
      return;
    }
    const journal = peekJournal({ path, baseUrl: settings.baseUrl });
    try {
      for (const batch of journal.batches()) {
        for (const link of journal.eachLink(batch)) evidence.addLink(source, link, saidOf(link));
      }
      if (journal.hasWritten(evidence.record ?? '')) evidence.countOnce(source);
    } finally {
      journal.close();
    }
  } catch (error) {
    // It is looked at itself.
    if (isInput) return;
    if (deps.signal.aborted || !(error instanceof InputError)) throw error;
    const { message, hint = '' } = error;
    // An option of this command is about its own input.
    const how = hint === '' || hint.includes('--map') ? 'Correct it.' : hint;
    throw inputError(
      `${name} may name links of these rows, and can't be used. ${message}`,
      `${how} If it has nothing to do with these rows, move it into a folder of its own, or run with --on-similar create.`,
    );
  }
}

function saidOf({ result }: JournalLink): ClaimOfLink {
  return {
    own: result?.status === 'created' ? { ...result, made_for: '' } : undefined,
    doubt: result?.status === 'unknown' ? result.error : undefined,
  };
}
