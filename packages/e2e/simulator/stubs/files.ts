/** What the stand-ins for `node:fs` and `node:fs/promises` share. */
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

/** Its size is a `bigint`, as of a `stat` with `bigint: true`. */
export function exactStatsOf(file: FileNode | undefined): Stats<bigint> {
  return new Stats(file, BigInt(sizeOf(file)));
}

function sizeOf(file: FileNode | undefined): number {
  return file?.database?.hasPages() === true ? 4096 : (file?.bytes.length ?? 0);
}
