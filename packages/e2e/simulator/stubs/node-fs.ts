/** Stands in for `node:fs` in the CLI: what the journal and the reading of standard input use of it. */
import { constants as realConstants } from 'node:fs';
import { theWorld } from '../world/world.ts';
import { isFolder, lookUp, statsOf, systemError } from './files.ts';
import { open } from './node-fs-promises.ts';

export const constants = realConstants;

function operation<T>(what: string, path: string, isWrite: boolean, work: () => T): T {
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
  return operation('open', path, flags !== 'r', () => {
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
  return operation('read', path, false, () => {
    const { database, bytes } = lookUp(path, 'read');
    const from = database?.hasPages() === true ? FIRST_BYTES : bytes;
    return from.copy(into, offset, 0, Math.min(length, from.length));
  });
}

type LookOptions = { throwIfNoEntry?: boolean } | undefined;

export function statSync(path: string, options?: LookOptions) {
  return operation('stat', path, false, () => {
    const file = theWorld().disk.get(path);
    if (file !== undefined || isFolder(path)) return statsOf(file);
    if (options?.throwIfNoEntry === false) return undefined;
    throw systemError('ENOENT', 'stat', path);
  });
}

/** There are no symbolic links on this disk. */
export function lstatSync(path: string, options?: LookOptions) {
  return statSync(path, options);
}

/** Every folder has the same room. */
export function statfsSync(_path: string) {
  return { bavail: 1, bsize: 4_096 };
}

export function existsSync(path: string): boolean {
  return theWorld().disk.get(path) !== undefined;
}

export function rmSync(path: string, options?: { force?: boolean; recursive?: boolean }): void {
  operation('rm', path, false, () => {
    const { disk } = theWorld();
    for (const name of [...disk.names.keys()]) {
      const isInside = options?.recursive === true && name.startsWith(`${path}/`);
      if (name === path || isInside) disk.setName(name, undefined);
    }
  });
}

export function renameSync(from: string, to: string): void {
  operation('rename', to, true, () => {
    const { disk } = theWorld();
    disk.setName(to, lookUp(from, 'rename'));
    disk.setName(from, undefined);
  });
}

/** A second name for a file. */
export function linkSync(from: string, to: string): void {
  operation('link', to, true, () => {
    const { disk } = theWorld();
    if (disk.get(to) !== undefined) throw systemError('EEXIST', 'link', to);
    disk.setName(to, lookUp(from, 'link'));
  });
}

export function mkdtempSync(prefix: string): string {
  return `${prefix}${theWorld().random.bits().toString(36)}`;
}

export function copyFileSync(from: string, to: string): void {
  operation('copyfile', to, true, () => {
    const world = theWorld();
    const { bytes, database, mode } = lookUp(from, 'copyfile');
    const copy = world.disk.create(to, mode, world.scheduler.now);
    copy.bytes = bytes;
    if (database !== undefined) world.disk.setDatabase(copy, database.copy());
  });
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

/** What is written to in one `pipeline`. */
export class FileWriter {
  readonly #file: ReturnType<typeof open>;

  constructor(path: string) {
    this.#file = open(path, 'wx', 0o600);
  }

  async write(bytes: Uint8Array): Promise<void> {
    await (await this.#file).writeFile(bytes);
  }

  async close(): Promise<void> {
    await (await this.#file).close();
  }
}

export function createWriteStream(path: string): FileWriter {
  return new FileWriter(path);
}
