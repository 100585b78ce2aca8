/** What the stand-ins for `node:fs` and `node:fs/promises` share: the operations of the simulated disk, which one waits for and the other does at once. */
import { constants } from 'node:fs';
import type { FileNode } from '../world/disk.ts';
import { theWorld } from '../world/world.ts';

const FOLDERS = ['/files', '/tmp'];

export function isFolder(path: string): boolean {
  return FOLDERS.includes(path) || /^\/moved\d+$/.test(path);
}

class SystemError extends Error {
  readonly code: string;
  readonly syscall: string;
  readonly path: string;

  constructor(code: string, syscall: string, path: string) {
    super(`${code}: ${syscall} '${path}'`);
    this.code = code;
    this.syscall = syscall;
    this.path = path;
  }
}

export function systemError(code: string, syscall: string, path: string): Error {
  return new SystemError(code, syscall, path);
}

export function lookUp(path: string, syscall: string): FileNode {
  const file = theWorld().disk.get(path);
  if (file === undefined) throw systemError('ENOENT', syscall, path);
  return file;
}

/** A file as it is now, or a folder where `file` is undefined. */
class Stats<Size extends number | bigint> {
  readonly size: Size;
  readonly mtimeNs: bigint;
  readonly mode: number;
  readonly ino: number;
  readonly uid = 0;
  readonly gid = 0;
  readonly #isFile: boolean;

  constructor(file: FileNode | undefined, size: Size) {
    this.size = size;
    this.mtimeNs = file?.changedAtNs ?? 0n;
    this.mode = file?.mode ?? 0o755;
    this.ino = file?.number ?? 1;
    this.#isFile = file !== undefined;
  }

  get mtimeMs(): number {
    return Number(this.mtimeNs / 1000n) / 1000;
  }

  isFile(): boolean {
    return this.#isFile;
  }

  isDirectory(): boolean {
    return !this.#isFile;
  }

  isSymbolicLink(): boolean {
    return false;
  }
}

/** @param file - undefined for a folder */
export function statsOf(file: FileNode | undefined): Stats<number> {
  return new Stats(file, sizeOf(file));
}

function sizeOf(file: FileNode | undefined): number {
  return file?.database?.hasPages() === true ? 4096 : (file?.bytes.length ?? 0);
}

/** An operation of the disk. Programs are killed before and after it, and it fails where the scenario wants it to. */
export interface Operation<Given extends readonly unknown[], Result> {
  what: string;
  isWrite: boolean;
  /** Which of what is given is the path. */
  path: 0 | 1;
  /** Returns or throws its error; one that is returned costs a fraction. */
  work: (...given: Given) => Result | Error;
}

const reads = <Given extends readonly unknown[], Result>(
  what: string,
  work: Operation<Given, Result>['work'],
): Operation<Given, Result> => ({ what, isWrite: false, path: 0, work });

const writes = <Given extends readonly unknown[], Result>(
  what: string,
  work: Operation<Given, Result>['work'],
  path: 0 | 1 = 0,
): Operation<Given, Result> => ({ what, isWrite: true, path, work });

interface StatOptions {
  bigint?: boolean;
  throwIfNoEntry?: boolean;
}

export const OPERATIONS = {
  stat: reads('stat', (path: string, { bigint, throwIfNoEntry }: StatOptions = {}) => {
    const file = theWorld().disk.get(path);
    if (file === undefined && !isFolder(path))
      return throwIfNoEntry === false ? undefined : systemError('ENOENT', 'stat', path);
    return bigint === true ? new Stats(file, BigInt(sizeOf(file))) : statsOf(file);
  }),
  rm: reads('rm', (path: string, options: { force?: boolean; recursive?: boolean } = {}) => {
    const { disk } = theWorld();
    if (!disk.names.has(path) && options.force !== true) throw systemError('ENOENT', 'rm', path);
    for (const name of [...disk.names.keys()]) {
      const isInside = options.recursive === true && name.startsWith(`${path}/`);
      if (name === path || isInside) disk.setName(name, undefined);
    }
  }),
  rename: writes(
    'rename',
    (from: string, to: string) => {
      const { disk } = theWorld();
      const file = lookUp(from, 'rename');
      const { path, code = '' } = disk.mounted ?? {};
      if (to === path || from === path) throw systemError(code, 'rename', to);
      disk.setName(to, file);
      disk.setName(from, undefined);
    },
    1,
  ),
  link: writes(
    'link',
    (from: string, to: string) => {
      const { disk } = theWorld();
      const file = lookUp(from, 'link');
      if (disk.get(to) !== undefined) throw systemError('EEXIST', 'link', to);
      disk.setName(to, file);
    },
    1,
  ),
  copyFile: writes(
    'copyfile',
    (from: string, to: string, flags: number = 0) => {
      const { disk, scheduler } = theWorld();
      const { bytes, database, mode } = lookUp(from, 'copyfile');
      if ((flags & constants.COPYFILE_EXCL) !== 0 && disk.get(to) !== undefined)
        throw systemError('EEXIST', 'copyfile', to);
      const copy = disk.create(to, mode, scheduler.now);
      copy.bytes = bytes;
      if (database !== undefined) disk.setDatabase(copy, database.copy());
    },
    1,
  ),
};

/** The name of a new folder. Making it is no operation. */
export function newFolder(prefix: string): string {
  return `${prefix}${theWorld().random.bits().toString(36)}`;
}
