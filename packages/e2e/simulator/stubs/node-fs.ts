/** Stands in for `node:fs` in the CLI: what the journal and the reading of standard input use of it. */
import { constants as realConstants } from 'node:fs';
import { Writable } from 'node:stream';
import { theWorld } from '../world/world.ts';
import { lookUp, newFolder, OPERATIONS, type Operation, systemError } from './files.ts';
import { open } from './node-fs-promises.ts';

export const constants = realConstants;

function operationOf<T>(what: string, path: string, isWrite: boolean, work: () => T): T {
  const world = theWorld();
  return world.step(what, path, () => {
    world.diskStep(what, path, isWrite);
    return work();
  });
}

/** Open files are only looked at here, so that their path is enough of a descriptor. */
const paths = new Map<number, string>();
let lastDescriptor = 100;

export function openSync(path: string, flags: string | number, mode = 0o666): number {
  return operationOf('open', path, flags !== 'r', () => {
    const world = theWorld();
    const creates = typeof flags === 'number' && (flags & constants.O_CREAT) !== 0;
    if (world.disk.get(path) === undefined) {
      if (!creates) throw systemError('ENOENT', 'open', path);
      world.disk.create(path, mode, world.scheduler.now);
    }
    lastDescriptor += 1;
    paths.set(lastDescriptor, path);
    return lastDescriptor;
  });
}

export function closeSync(descriptor: number): void {
  paths.delete(descriptor);
}

const FIRST_BYTES = Buffer.from('SQLite format 3\0', 'latin1');

export function readSync(descriptor: number, into: Buffer, offset: number, length: number): number {
  const path = paths.get(descriptor) ?? '';
  return operationOf('read', path, false, () => {
    const { database, bytes } = lookUp(path, 'read');
    const from = database?.hasPages() === true ? FIRST_BYTES : bytes;
    return from.copy(into, offset, 0, Math.min(length, from.length));
  });
}

/** Does an operation at once. */
function atOnce<Given extends readonly unknown[], Result>(operation: Operation<Given, Result>) {
  const { what, isWrite, path, work } = operation;
  return (...given: Given) =>
    operationOf(what, String(given[path]), isWrite, () => {
      const result = work(...given);
      if (result instanceof Error) throw result;
      return result;
    });
}

export const statSync = atOnce(OPERATIONS.stat);
/** There are no symbolic links on this disk. */
export const lstatSync = atOnce(OPERATIONS.stat);
export const rmSync = atOnce(OPERATIONS.rm);
export const renameSync = atOnce(OPERATIONS.rename);
export const linkSync = atOnce(OPERATIONS.link);
export const copyFileSync = atOnce(OPERATIONS.copyFile);
export { newFolder as mkdtempSync };

/** Every folder has the same room. */
export function statfsSync(_path: string) {
  return { bavail: 1, bsize: 4_096 };
}

export function existsSync(path: string): boolean {
  return theWorld().disk.get(path) !== undefined;
}

const STREAM_BYTES = 64 * 1024;

type Listener = (bytes: Buffer) => void;

/** The pieces of a file. Whoever takes a stream here takes any async iterable, and listens to nothing else. */
export function createReadStream(path: string) {
  const listeners: Listener[] = [];
  const on = (_: 'data', listener: Listener) => listeners.push(listener);
  return Object.assign(piecesOf(path, listeners), { on });
}

async function* piecesOf(path: string, listeners: readonly Listener[]): AsyncGenerator<Buffer> {
  const file = await open(path, 'r');
  try {
    for (;;) {
      const bytes = await file.next(STREAM_BYTES);
      if (bytes.length === 0) return;
      for (const listener of listeners) listener(bytes);
      yield bytes;
    }
  } finally {
    await file.close();
  }
}

export function createWriteStream(path: string): Writable {
  const file = open(path, 'wx', 0o600);
  return new Writable({
    write: (bytes, _, done) => void file.then((to) => to.writeFile(bytes)).then(() => done(), done),
    destroy: (error, done) => {
      const end = () => done(error);
      file.then((to) => to.close()).then(end, end);
    },
  });
}
