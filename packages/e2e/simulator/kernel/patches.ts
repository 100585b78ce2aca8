import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A planted bug, or a smaller size: in one source file, text is replaced while the file is loaded. */
export interface Patch {
  /** Below `packages/`. */
  file: string;
  /** It must be in the file exactly once. */
  find: string;
  replace: string;
}

export const PACKAGES = new URL('../../../', import.meta.url).href;

/** Patches of one set of modules. One that would change nothing is an error: a bug that is not planted can't be found. */
export class Patches {
  readonly #patches: readonly Patch[];
  readonly #unused: Set<string>;

  /** @throws Error when the file of a patch is gone, or its text is not there exactly once, as after a change of that file */
  constructor(patches: readonly Patch[]) {
    this.#patches = patches;
    this.#unused = new Set(patches.map(({ file }) => file));
    for (const { file, find } of patches) {
      const path = fileURLToPath(PACKAGES + file);
      if (!existsSync(path))
        throw new Error(`${file} is gone, and a patch replaces in it: ${find}`);
      const count = readFileSync(path, 'utf8').split(find).length - 1;
      if (count !== 1) throw new Error(`not once in ${file}, but ${count} times: ${find}`);
    }
  }

  /** The text of a file as it is to be loaded; undefined where no patch changes it. */
  sourceOf(url: string): string | undefined {
    const own = this.#patches.filter(({ file }) => url === PACKAGES + file);
    if (own.length === 0) return undefined;
    let text = readFileSync(fileURLToPath(url), 'utf8');
    for (const { file, find, replace } of own) {
      text = text.replace(find, () => replace);
      this.#unused.delete(file);
    }
    return text;
  }

  /**
   * To be called once everything is loaded.
   *
   * @throws Error when nothing has loaded the file of a patch
   */
  checkUsed(): void {
    const [file] = this.#unused;
    if (file !== undefined) throw new Error(`${file} is never loaded, and a patch changes it`);
  }
}
