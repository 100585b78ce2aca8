/** What the stand-ins for `node:fs` and `node:fs/promises` share. */
import type { FileNode } from '../world/disk.ts';
import { theWorld } from '../world/world.ts';

const FOLDERS = ['/files', '/tmp'];

export function isFolder(path: string): boolean {
  return FOLDERS.includes(path);
}

export function systemError(code: string, syscall: string, path: string): Error {
  return Object.assign(new Error(`${code}: ${syscall} '${path}'`), { code, syscall, path });
}

export function lookUp(path: string, syscall: string): FileNode {
  const file = theWorld().disk.get(path);
  if (file === undefined) throw systemError('ENOENT', syscall, path);
  return file;
}

export function statsOf(path: string, isExact: boolean, node?: FileNode) {
  const isFile = !isFolder(path);
  const file = isFile ? (node ?? lookUp(path, 'stat')) : undefined;
  const size = file?.database?.hasPages() === true ? 4096 : (file?.bytes.length ?? 0);
  const changedAtNs = file?.changedAtNs ?? 0n;
  return {
    isFile: () => isFile,
    isDirectory: () => !isFile,
    isSymbolicLink: () => false,
    size: isExact ? BigInt(size) : size,
    mtimeMs: Number(changedAtNs / 1000n) / 1000,
    mtimeNs: changedAtNs,
    mode: file?.mode ?? 0o755,
    uid: 0,
    gid: 0,
    ino: file?.number ?? 1,
  };
}
