/** Stands in for `node:fs/promises` in the CLI: every call is an operation of the simulated disk, and takes its time. */
import type { FileNode } from '../world/disk.ts';
import { type Process, theWorld, type World } from '../world/world.ts';
import { exactStatsOf, isFolder, lookUp, statsOf, systemError } from './files.ts';

/** How often the clock goes on by a millisecond while an operation is carried out. */
const SLOW_SHARE = 0.2;

/** What a read gives at most where it gives less than was asked for: not at the ends of lines and characters. */
const SHORT_BYTES = 37;

const durationMs = ({ random }: World) => (random.chance(SLOW_SHARE) ? 1 : 0);

/** @param work - returns or throws its error; one that is returned costs a fraction */
function operation<T>(
  what: string,
  path: string,
  isWrite: boolean,
  work: () => T | Error,
): Promise<T> {
  const world = theWorld();
  return world.wait(what, path, durationMs(world), () => {
    world.diskStep(what, path, isWrite);
    return work();
  });
}

export function access(path: string): Promise<void> {
  return operation('access', path, false, () => void lookUp(path, 'access'));
}

export function stat(path: string, options?: { bigint?: boolean }) {
  return operation('stat', path, false, () => {
    const file = theWorld().disk.get(path);
    if (file === undefined && !isFolder(path)) return systemError('ENOENT', 'stat', path);
    return options?.bigint === true ? exactStatsOf(file) : statsOf(file);
  });
}

/** There are no symbolic links on this disk. */
export function lstat(path: string, options?: { bigint?: boolean }) {
  return stat(path, options);
}

export function realpath(path: string): Promise<string> {
  return operation('realpath', path, false, () => path);
}

export async function readlink(path: string): Promise<string> {
  throw systemError('EINVAL', 'readlink', path);
}

export function readdir(path: string): Promise<string[]> {
  return operation('readdir', path, false, () => {
    const names: string[] = [];
    for (const name of theWorld().disk.names.keys()) {
      const isInside = name.lastIndexOf('/') === path.length && name.startsWith(path);
      if (isInside) names.push(name.slice(path.length + 1));
    }
    return names;
  });
}

export function rename(from: string, to: string): Promise<void> {
  return operation('rename', to, true, () => {
    const { disk } = theWorld();
    const file = lookUp(from, 'rename');
    const { path, code = '' } = disk.mounted ?? {};
    if (to === path || from === path) throw systemError(code, 'rename', to);
    disk.setName(to, file);
    disk.setName(from, undefined);
  });
}

export function link(from: string, to: string): Promise<void> {
  return operation('link', to, true, () => {
    const { disk } = theWorld();
    const file = lookUp(from, 'link');
    if (disk.get(to) !== undefined) throw systemError('EEXIST', 'link', to);
    disk.setName(to, file);
  });
}

export function rm(path: string, options?: { force?: boolean; recursive?: boolean }) {
  return operation('rm', path, false, () => {
    const { disk } = theWorld();
    if (options?.recursive === true) {
      for (const name of [...disk.names.keys()]) {
        if (name.startsWith(`${path}/`)) disk.setName(name, undefined);
      }
      return;
    }
    if (disk.get(path) === undefined) {
      if (options?.force !== true) throw systemError('ENOENT', 'rm', path);
    } else disk.setName(path, undefined);
  });
}

export function copyFile(from: string, to: string): Promise<void> {
  return operation('copyfile', to, true, () => {
    const world = theWorld();
    const file = lookUp(from, 'copyfile');
    if (world.disk.get(to) !== undefined) throw systemError('EEXIST', 'copyfile', to);
    world.disk.create(to, file.mode, world.scheduler.now).bytes = file.bytes;
  });
}

export function utimes(path: string, _accessed: number, changed: number): Promise<void> {
  return operation('utimes', path, true, () => setTime(lookUp(path, 'utimes'), changed));
}

export function readFile(path: string): Promise<string> {
  return operation('read', path, false, () => lookUp(path, 'open').bytes.toString());
}

export function writeFile(
  path: string,
  text: string,
  { flag, mode = 0o644, flush }: { flag?: 'wx'; mode?: number; flush?: boolean } = {},
): Promise<void> {
  return operation('write', path, true, () => {
    const { disk, scheduler } = theWorld();
    const there = disk.get(path);
    if (flag === 'wx' && there !== undefined) throw systemError('EEXIST', 'open', path);
    const file = disk.create(path, there?.mode ?? mode, scheduler.now);
    file.bytes = Buffer.from(text);
    if (flush) disk.syncFile(file);
  });
}

export function chmod(path: string, mode: number): Promise<void> {
  return operation('chmod', path, true, () => {
    lookUp(path, 'chmod').mode = mode;
  });
}

/** Folders are there. */
export async function mkdir(): Promise<void> {}

export async function mkdtemp(prefix: string): Promise<string> {
  return `${prefix}${theWorld().random.bits().toString(36)}`;
}

export function open(path: string, flags: string, mode = 0o666): Promise<FileHandle> {
  return operation('open', path, flags !== 'r', () => {
    const world = theWorld();
    if (isFolder(path)) return new FileHandle(path, undefined);
    if (flags === 'r') return new FileHandle(path, lookUp(path, 'open'));
    const there = world.disk.get(path);
    if (flags === 'r+') return new FileHandle(path, lookUp(path, 'open'));
    if (flags !== 'wx') throw new Error(`open(${flags}) is not simulated`);
    if (there !== undefined) throw systemError('EEXIST', 'open', path);
    return new FileHandle(path, world.disk.create(path, mode, world.scheduler.now));
  });
}

class FileHandle {
  readonly #path: string;
  /** Undefined for a folder. */
  readonly #file: FileNode | undefined;
  #position = 0;
  readonly #process: Process;

  constructor(path: string, file: FileNode | undefined) {
    this.#path = path;
    this.#file = file;
    this.#process = theWorld().process;
    this.#process.openFiles.push(path);
  }

  get #node(): FileNode {
    if (this.#file === undefined) throw systemError('EISDIR', 'read', this.#path);
    return this.#file;
  }

  read(into: Buffer, offset = 0, length = into.length, position: number | null = null) {
    return operation('read', this.#path, false, () => {
      const start = position ?? this.#position;
      const { bytes } = this.#node;
      const end = start + (theWorld().disk.readsShort ? Math.min(length, SHORT_BYTES) : length);
      const bytesRead = bytes.copy(into, offset, start, Math.min(end, bytes.length));
      if (position === null) this.#position += bytesRead;
      return { bytesRead, buffer: into };
    });
  }

  /** The next bytes, of a file whose content is replaced and never changed. */
  next(length: number): Promise<Buffer> {
    return operation('read', this.#path, false, () => {
      const start = this.#position;
      const end = start + (theWorld().disk.readsShort ? SHORT_BYTES : length);
      const bytes = this.#node.bytes.subarray(start, end);
      this.#position += bytes.length;
      return bytes;
    });
  }

  stat() {
    return operation('fstat', this.#path, false, () => statsOf(this.#node));
  }

  writeFile(bytes: Uint8Array): Promise<void> {
    // Node gives the bytes to the disk when the call is made.
    const copy = Buffer.from(bytes);
    const append = (some: Buffer) => {
      const before = this.#node.bytes;
      this.#node.bytes = before.length === 0 ? some : Buffer.concat([before, some]);
      this.#node.changedAtNs = BigInt(theWorld().scheduler.now) * 1_000_000n;
    };
    const world = theWorld();
    return world.wait('write', this.#path, durationMs(world), () => {
      try {
        world.diskStep('write', this.#path, true);
      } catch (error) {
        // A disk that is full takes what still fits.
        append(copy.subarray(0, copy.length >> 1));
        throw error;
      }
      append(copy);
    });
  }

  truncate(): Promise<void> {
    return operation('ftruncate', this.#path, true, () => {
      Object.assign(this.#node, { bytes: Buffer.alloc(0), dropped: 0 });
    });
  }

  utimes(_accessed: number, changed: number): Promise<void> {
    return operation('futimes', this.#path, true, () => setTime(this.#node, changed));
  }

  chmod(mode: number): Promise<void> {
    return operation('fchmod', this.#path, true, () => {
      this.#node.mode = mode;
    });
  }

  async chown(): Promise<void> {}

  sync(): Promise<void> {
    const file = this.#file;
    const { disk } = theWorld();
    const sync = () => (file === undefined ? disk.syncFolder(this.#path) : disk.syncFile(file));
    const failed = (error: unknown) => {
      // The system takes the pages for written all the same.
      if (file !== undefined) file.dropped = file.bytes.length;
      throw error;
    };
    return operation('fsync', this.#path, true, sync).catch(failed);
  }

  async close(): Promise<void> {
    const { openFiles } = this.#process;
    const index = openFiles.indexOf(this.#path);
    if (index >= 0) openFiles.splice(index, 1);
  }
}

/** A time in seconds is exact to about a microsecond. */
function setTime(file: FileNode, seconds: number): void {
  file.changedAtNs = BigInt(Math.round(seconds * 1e6)) * 1000n;
}
