import { journalOf } from '../oracle/journal-rules.ts';
import type { FileNode } from '../world/disk.ts';
import type { World } from '../world/world.ts';
import { inputText, parseResults } from './file-text.ts';
import { FOLDER, inputPath, outputFormat, type ResultRow, resultsPath } from './files.ts';
import type { RunPlan, UserTraits } from './scenario.ts';

/** What the user does with the files of an import between its runs. */
export class UserFiles {
  readonly #user: UserTraits;
  readonly #world: World;
  /** Whether the journal was thrown away at one time. */
  #hasLostJournal = false;
  /** The input of the last run: a new file when anybody writes to it. */
  #placed: (Pick<RunPlan, 'rows' | 'dialect'> & { file: FileNode | undefined }) | undefined;

  constructor(user: UserTraits, world: World) {
    this.#user = user;
    this.#world = world;
  }

  /** Prepares a run. */
  prepare(plan: RunPlan): void {
    if (!this.#user.fromStdin) this.#placeInput(plan);
    if (!plan.losesJournal) return;
    const { disk } = this.#world;
    this.#world.log(() => '--- the journal is thrown away');
    this.#hasLostJournal = true;
    disk.setName(journalOf(inputPath(this.#user)), undefined);
    disk.syncFolder(FOLDER);
  }

  #placeInput({ rows, dialect }: RunPlan): void {
    const user = this.#user;
    const { disk } = this.#world;
    const path = inputPath(user);
    const old = disk.get(path);
    // Nobody has written to it since, and the rows are the same.
    const isSame = rows === this.#placed?.rows && dialect === this.#placed.dialect;
    if (!user.inPlace && isSame && old === this.#placed?.file) return;
    const filled = user.inPlace ? this.#rowsOf(path) : undefined;
    const hasResults = filled?.some(({ status }) => status !== '') === true;
    const text = inputText(rows, user, dialect, hasResults ? filled : undefined);
    if (old?.bytes.toString() !== text) disk.place(path, text, this.#world.wallClock());
    this.#placed = { rows, dialect, file: disk.get(path) };
  }

  /** Somebody writes to the input while it is imported, and changes nothing. */
  touchInput(): void {
    this.#world.log(() => '--- somebody writes to the input');
    const { disk } = this.#world;
    const path = inputPath(this.#user);
    const text = disk.get(path)?.bytes.toString() ?? '';
    disk.place(path, text, this.#world.wallClock() + 1);
  }

  /**
   * The file for `--known`, once the journal alone does not tell all links: the results of the last run that has written some, under a
   * name of their own.
   */
  known(): string | undefined {
    if (!this.#hasLostJournal || !this.#user.namesResults) return undefined;
    const path = `${FOLDER}/known.${this.#user.format === 'jsonl' ? 'jsonl' : 'csv'}`;
    const results = resultsPath(this.#user);
    const { disk } = this.#world;
    if (this.#rowsOf(results)?.some(({ code }) => code !== '')) {
      disk.place(path, disk.get(results)?.bytes.toString() ?? '', this.#world.wallClock());
    }
    return disk.get(path) && path;
  }

  /** What a file says of its rows, where the journal does not know all of it. */
  stated(known: string | undefined): readonly ResultRow[] {
    const path = this.#user.inPlace ? inputPath(this.#user) : known;
    if (!this.#hasLostJournal || path === undefined) return [];
    return this.#rowsOf(path) ?? [];
  }

  #rowsOf(path: string): ResultRow[] | undefined {
    const text = this.#world.disk.get(path)?.bytes.toString() ?? '';
    return parseResults(text, outputFormat(this.#user));
  }
}
