import type { Disk, FileNode } from '../world/disk.ts';
import type { World } from '../world/world.ts';
import { encoded, inputText, parseResults } from './file-text.ts';
import { FOLDER, type Paths, pathsOf, type ResultRow } from './files.ts';
import type { Loss, RunPlan, UserTraits } from './scenario.ts';

/** The files of an import, by what they are. */
const KINDS = ['input', 'results', 'rejects', 'journal'] as const;
type Kind = (typeof KINDS)[number];

/** The files of an import as they were after one of its runs. */
type Copies = Partial<Record<Kind, FileNode>>;

/** What the user does with the files of an import between its runs, and what happens to them. */
export class UserFiles {
  paths: Paths;
  readonly #user: UserTraits;
  readonly #world: World;
  readonly #disk: Disk;
  /** Whether the journal was thrown away at one time. */
  #hasLostJournal = false;
  /** The input of the last run: a new file when anybody writes to it. */
  #placed:
    | (Pick<RunPlan, 'rows' | 'dialect' | 'encoding'> & { file: FileNode | undefined })
    | undefined;
  #folder = FOLDER;
  #name = 'links';
  /** Names given so far to files that were renamed or copied. */
  #names = 0;
  /** Runs after which copies are made, since one of them is restored later. */
  readonly #kept: ReadonlySet<number>;
  readonly #copies = new Map<number, Copies>();

  constructor(user: UserTraits, runs: readonly RunPlan[], world: World) {
    this.#user = user;
    this.#world = world;
    this.#disk = world.disk;
    const losses = runs.flatMap((run) => run.losses);
    const restored = losses.filter(({ how, of }) => how === 'restore' || of === 'machine');
    this.#kept = new Set(restored.map(({ since }) => since));
    this.paths = pathsOf(user, this.#folder, this.#name);
  }

  /** Prepares a run. */
  prepare(plan: RunPlan): void {
    for (const loss of plan.losses) this.#lose(loss);
    this.#mount();
    if (!this.#user.fromStdin) this.#placeInput(plan);
    if (!plan.losesJournal) return;
    this.#world.log(() => '--- the journal is thrown away');
    this.#hasLostJournal = true;
    this.#disk.remove(this.paths.journal);
  }

  /** Copies are made of the files, as they are after a run. */
  afterRun(index: number): void {
    if (!this.#kept.has(index)) return;
    const copies: Copies = {};
    for (const kind of KINDS) {
      const file = this.#disk.get(this.paths[kind]);
      if (file !== undefined) copies[kind] = this.#disk.keep(file);
    }
    this.#copies.set(index, copies);
  }

  /** A container has the file with the results, and it is there before the first run. */
  #mount(): void {
    const { mounted: code, losesFiles } = this.#user;
    if (code === undefined || losesFiles) return;
    const path = this.paths.results;
    if (this.#disk.get(path) === undefined && path !== this.paths.input) {
      this.#disk.place(path, '', this.#now);
    }
    this.#disk.mounted = { path, code };
  }

  #placeInput({ rows, dialect, encoding, copiesRows }: RunPlan): void {
    const user = this.#user;
    const path = this.paths.input;
    const old = this.#disk.get(path);
    // Nobody has written to it since, and the rows are the same.
    const { rows: before, dialect: as, encoding: by } = this.#placed ?? {};
    const isSame = rows === before && dialect === as && encoding === by;
    const isFilled = user.inPlace || user.importsResults;
    if (!isFilled && isSame && old === this.#placed?.file) return;
    const whole = this.#disk.wholeOf(path);
    if (whole !== path) {
      // The next run restores it, unless somebody edits it before, who looks at it first.
      if (isSame) return;
      this.#restoreFrom(whole);
    }
    const results = user.importsResults ? this.#rowsOf(this.paths.results) : undefined;
    const filled = results ?? (isFilled ? this.#rowsOf(path) : undefined);
    const hasResults = filled?.some(({ status }) => status !== '') === true;
    const text = inputText(rows, user, dialect, hasResults ? filled : undefined, copiesRows);
    const bytes = encoded(text, encoding);
    if (old?.bytes.equals(bytes) !== true) this.#disk.place(path, bytes, this.#now);
    this.#placed = { rows, dialect, encoding, file: this.#disk.get(path) };
  }

  /** Somebody writes to the input while it is imported, and changes nothing. */
  touchInput(): void {
    const path = this.paths.input;
    // Of a file that is just written over, there is nothing whole to write again.
    if (this.#disk.wholeOf(path) !== path) return;
    this.#world.log(() => '--- somebody writes to the input');
    this.#disk.place(path, this.#disk.get(path)?.bytes ?? '', this.#now + 1);
  }

  /** A file that the import refuses to use is moved out of the way, as the user is told to. Returns whether there is one. */
  setAside(reason: string): boolean {
    const whole = this.#disk.wholeOf(this.paths.results);
    // Any other import restores it by itself.
    if (whole !== this.paths.results && reason.includes(' may have been cut: ')) {
      this.#world.log(() => '--- the user copies the whole file over the one that may be cut');
      this.#restoreFrom(whole);
      return false;
    }
    const [, other] = /^(.+?) may name links of these rows/.exec(reason) ?? [];
    if (other !== undefined) {
      this.#world.log(() => `--- the user moves ${other} away`);
      this.#disk.move(`${this.#folder}/${other}`, `/away/${other}`);
      return true;
    }
    let hasMoved = false;
    for (const kind of KINDS) {
      const path = this.paths[kind];
      const isNamed =
        reason.startsWith(path) || reason.startsWith(path.slice(this.#folder.length + 1));
      if (kind === 'input' || path === this.paths.input || !isNamed) continue;
      this.#world.log(() => `--- the user moves the ${kind} away`);
      this.#loseFile(kind, 'rename');
      hasMoved = true;
    }
    return hasMoved;
  }

  /**
   * The file for `--known`, once the journal alone does not tell all links: the results of the last run that has written some, under a
   * name of their own.
   */
  known(): string | undefined {
    if (!this.#hasLostJournal || !this.#user.namesResults) return undefined;
    const { format, hasTable } = this.#user;
    const path = `${this.#folder}/known.${format === 'jsonl' && !hasTable ? 'jsonl' : 'csv'}`;
    const { results } = this.paths;
    if (this.#rowsOf(results)?.some(({ code }) => code !== '')) {
      this.#disk.place(path, this.#disk.get(results)?.bytes.toString() ?? '', this.#now);
    }
    return this.#disk.get(path) && path;
  }

  #restoreFrom(whole: string): void {
    const text = this.#disk.get(whole)?.bytes.toString() ?? '';
    this.#disk.place(this.paths.results, text, this.#now);
    this.#disk.remove(whole);
  }

  #rowsOf(path: string): ResultRow[] | undefined {
    const text = this.#disk.get(path)?.bytes.toString() ?? '';
    return parseResults(text);
  }

  get #now(): number {
    return this.#world.scheduler.now;
  }

  #lose(loss: Loss): void {
    const { of, how } = loss;
    this.#world.log(() => `--- ${of}: ${how}${how === 'restore' ? ` from run ${loss.since}` : ''}`);
    if (of === 'machine') this.#freshMachine(loss);
    else if (of === 'folder') this.#loseFolder(loss);
    else if (of === 'input') this.#loseInput(loss);
    else this.#loseFile(of, how, loss);
  }

  /** Another machine has the input as it was committed, and nothing else. */
  #freshMachine({ since }: Loss): void {
    for (const path of [...this.#disk.names.keys()]) {
      if (path.startsWith(`${this.#folder}/`)) this.#disk.remove(path);
    }
    this.#restore('input', since);
  }

  #loseFolder({ how, since }: Loss): void {
    const { paths } = this;
    if (how === 'restore') {
      for (const kind of KINDS) this.#restore(kind, since);
    } else if (how === 'delete') {
      for (const kind of KINDS) if (paths[kind] !== paths.input) this.#disk.remove(paths[kind]);
    } else {
      this.#names += 1;
      const folder = `/moved${this.#names}`;
      for (const [path, file] of [...this.#disk.names]) {
        if (!path.startsWith(`${this.#folder}/`)) continue;
        const to = folder + path.slice(this.#folder.length);
        if (how === 'rename') this.#disk.move(path, to);
        else this.#disk.copy(file, to, this.#now);
      }
      this.#moveTo(folder, this.#name);
    }
  }

  #loseInput({ how, kept, since }: Loss): void {
    const { input } = this.paths;
    const file = this.#disk.get(input);
    if (file === undefined) return;
    if (how === 'rename' || how === 'copy') {
      this.#names += 1;
      const name = how === 'copy' ? `links (${this.#names})` : `links-${this.#names}`;
      const { input: to } = pathsOf(this.#user, this.#folder, name);
      if (how === 'copy') this.#disk.copy(file, to, this.#now);
      else this.#disk.move(input, to);
      this.#moveTo(this.#folder, name);
    } else if (how === 'restore') this.#restore('input', since);
    // Its owner writes it again: what is gone are the results in it.
    else if (how === 'delete') this.#disk.remove(input);
    else if (this.#user.inPlace) this.#cut(input, file, kept);
  }

  #loseFile(
    of: Exclude<Kind, 'input'>,
    how: Loss['how'],
    { kept, since }: Pick<Loss, 'kept' | 'since'> = { kept: 0, since: 0 },
  ): void {
    const path = this.paths[of];
    const file = this.#disk.get(path);
    // Filled in place, the results are in the input.
    if (path === this.paths.input) return;
    if (how === 'restore') this.#restore(of, since);
    if (how === 'restore' || file === undefined) return;
    if (how === 'delete') this.#disk.remove(path);
    else if (how === 'empty') this.#disk.place(path, '', this.#now);
    else if (how === 'cut') this.#cut(path, file, kept);
    else {
      this.#names += 1;
      const { folder } = this.paths;
      const to = path.replace(`${folder}/`, `${folder}/copy-${this.#names}-`);
      if (how === 'rename') this.#disk.move(path, to);
      else this.#disk.copy(file, to, this.#now);
    }
  }

  /** The end of the file is missing; in the input, whose owner sees to its lines, whole lines are. */
  #cut(path: string, file: FileNode, kept: number): void {
    if (file.database?.hasPages() === true) file.database.damage();
    const bytes = file.bytes.subarray(0, Math.floor((file.bytes.length * kept) / 1000));
    if (file.database !== undefined) return;
    const isInput = path === this.paths.input;
    const end = isInput ? bytes.lastIndexOf('\n') + 1 : bytes.length;
    this.#disk.place(path, bytes.subarray(0, end).toString(), this.#now);
  }

  /** As it was after a run; a file that was not there then is gone. */
  #restore(kind: Kind, since: number): void {
    const file = this.#copies.get(since)?.[kind];
    if (file === undefined) this.#disk.remove(this.paths[kind]);
    else this.#disk.copy(file, this.paths[kind], this.#now);
  }

  #moveTo(folder: string, name: string): void {
    this.#folder = folder;
    this.#name = name;
    this.paths = pathsOf(this.#user, folder, name);
  }
}
