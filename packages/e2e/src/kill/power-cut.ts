import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const SOURCE = fileURLToPath(new URL('./power-cut.c', import.meta.url));

/** A simulated disk that loses everything that was not synced when its machine loses power. */
export class PowerCut {
  /** The folder that is on the disk. */
  readonly folder: string;
  readonly #mirror: string;
  readonly #library: string;

  private constructor(folder: string, mirror: string, library: string) {
    this.folder = folder;
    this.#mirror = mirror;
    this.#library = library;
  }

  /** Compiles the library that watches what a program syncs. Needs a C compiler, and Linux. */
  static async create(at: string): Promise<PowerCut> {
    const [folder, mirror, library] = ['disk', 'synced', 'power-cut.so'].map((name) =>
      join(at, name),
    );
    if (folder === undefined || mirror === undefined || library === undefined) throw new Error();
    await Promise.all([mkdir(folder), mkdir(mirror)]);
    await promisify(execFile)('cc', ['-shared', '-fPIC', '-O2', '-o', library, SOURCE, '-ldl']);
    return new PowerCut(folder, mirror, library);
  }

  /** What the program needs in its environment. */
  get environment(): Record<string, string> {
    return {
      LD_PRELOAD: this.#library,
      POWER_CUT_FOLDER: this.folder,
      POWER_CUT_MIRROR: this.#mirror,
    };
  }

  /** Reduces the folder to what was synced, after the program was killed. Files in `safe` stay unchanged. */
  async cut(safe: readonly string[]): Promise<void> {
    const names = await readFile(join(this.#mirror, 'names'), 'utf8').catch(() => '');
    for (const name of await readdir(this.folder)) {
      if (!safe.includes(name)) await rm(join(this.folder, name), { force: true });
    }
    for (const line of names.split('\n').filter((text) => text !== '')) {
      const [inode = '', ...words] = line.split(' ');
      const name = words.join(' ');
      if (safe.includes(name)) continue;
      // A file whose name was synced and whose content was not is empty.
      const from = join(this.#mirror, inode);
      const to = join(this.folder, name);
      if ((await stat(from).catch(() => undefined)) === undefined) await writeFile(to, '');
      else await copyFile(from, to);
    }
    await this.forget(safe);
  }

  /** Treats the whole folder as synced: later runs reuse inode numbers for other files. */
  async forget(safe: readonly string[]): Promise<void> {
    await rm(this.#mirror, { recursive: true, force: true });
    await mkdir(this.#mirror);
    let names = '';
    for (const name of await readdir(this.folder)) {
      if (safe.includes(name)) continue;
      const { ino } = await stat(join(this.folder, name));
      names += `${ino} ${name}\n`;
      await copyFile(join(this.folder, name), join(this.#mirror, String(ino)));
    }
    await writeFile(join(this.#mirror, 'names'), names);
  }
}
