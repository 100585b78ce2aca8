import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createReadStream, type Stats } from 'node:fs';
import { open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Option } from 'commander';
import { type AdminCommand, CommandFailed, type Work } from './command.ts';
import { exportFormat } from './moving/own-format.ts';

interface ExportOptions {
  account?: string;
  format: 'csv' | 'jsonl';
  output: string;
}

export function registerExport(links: AdminCommand): void {
  links
    .add(
      'export',
      'Write all links into a file: codes, old addresses, clicks, dates, tags, state. links import reads it again.',
      'links export --account acc_7hVmWq2RkPzN -o links.csv',
      'links export --format jsonl | gzip > links.jsonl.gz',
    )
    .option('--account <id>', 'links of this account only (default: of all, with its id)')
    .addOption(
      new Option('--format <format>', 'csv or jsonl').choices(['csv', 'jsonl']).default('csv'),
    )
    .option('-o, --output <file>', 'file to write, replaced when all is in it; - is stdout', '-')
    .onStore(async (work, { account, format, output }: ExportOptions) => {
      const { store, write, err } = work;
      const { header, line } = exportFormat(format, account === undefined);
      const exportTo: Fill = async (write) => {
        await write(header);
        let exported = 0;
        await store.exportLinks(account, async (links) => {
          await write(links.map(line).join(''));
          exported += links.length;
        });
        return exported;
      };
      if (output !== '-') {
        const exporting = intoFile(output, exportTo, work);
        const exported = await exporting.catch((error: unknown) => failOf(output, error));
        return { json: { exported, file: output } };
      }
      const exported = await exportTo(write);
      err(`${exported} ${exported === 1 ? 'link' : 'links'} exported`);
      return undefined;
    });
}

type Write = (text: string) => Promise<void>;
type Fill = (write: Write) => Promise<number>;

/** Replaces the file once all is on the disk: what a symbolic link leads to, not the link. Devices and pipes are written into. */
async function intoFile(path: string, fill: Fill, { interruptible }: Work) {
  const target = await followed(path);
  const found = await stat(target).catch(() => undefined);
  if (found !== undefined && !found.isFile()) {
    const device = await open(target, 'w');
    return fill((text) => device.writeFile(text)).finally(() => device.close());
  }
  if (found !== undefined && (await isBinary(target))) {
    throw new CommandFailed(`${path} is a database or another binary file; it is not replaced`);
  }
  return interruptible((signal) => replace(target, found, fill, signal));
}

async function replace(target: string, found: Stats | undefined, fill: Fill, signal: AbortSignal) {
  // Its name is random, because two exports may write the same file. After a crash it stays, as that of a backup does.
  const part = `${target}.${randomBytes(4).toString('hex')}.part`;
  const file = await open(part, 'wx', 0o600);
  // An interruption does not wait for a database that hangs.
  const interrupted = once(signal, 'abort').then(() => Promise.reject(signal.reason));
  try {
    const exported = await Promise.race([fill((text) => file.writeFile(text)), interrupted]);
    if (found !== undefined) {
      // Whoever could read the last export can read this one. Only root may give a file away.
      await file.chown(found.uid, found.gid).catch(() => undefined);
      await file.chmod(found.mode);
    }
    await file.sync();
    await file.close();
    await rename(part, target);
    return exported;
  } finally {
    await file.close().catch(() => undefined);
    await rm(part, { force: true });
  }
}

const WHY: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist',
  EISDIR: 'it is a folder',
};

/** The system's error does not say which file it was when a disk is full, and names the part of it otherwise. */
function failOf(path: string, error: unknown): never {
  if (!(error instanceof Error && 'syscall' in error)) throw error;
  const why = 'code' in error ? WHY[String(error.code)] : undefined;
  throw new CommandFailed(`${path}: ${why ?? error.message}`);
}

/** What a symbolic link leads to, even where nothing is there yet. */
async function followed(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    const next = await readlink(path).catch(() => undefined);
    return next === undefined ? path : followed(resolve(await realpath(dirname(path)), next));
  }
}

/** Whether a file is no export. What SQLite keeps beside a database may be empty at the moment. */
async function isBinary(path: string): Promise<boolean> {
  if (/-(?:wal|shm|journal)$/.test(path)) return true;
  for await (const piece of createReadStream(path, { end: 99 })) return piece.includes(0);
  return false;
}
