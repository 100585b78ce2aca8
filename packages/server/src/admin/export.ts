import { randomBytes } from 'node:crypto';
import { open, readlink, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Option } from 'commander';
import { requireAccount } from './accounts.ts';
import { type AdminCommand, CommandFailed } from './command.ts';
import { exportFormat } from './moving/own-format.ts';

interface ExportOptions {
  account?: string;
  format: 'csv' | 'jsonl';
  output: string;
}

export function registerExport(links: AdminCommand): void {
  const { write, err, interruptible } = links.context;
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
    .onStore(async ({ store }, { account, format, output }: ExportOptions) => {
      if (account !== undefined) await requireAccount(store, account);
      const { header, line } = exportFormat(format, account === undefined);
      const exportTo: Fill = async (write) => {
        await write(header);
        let exported = 0;
        await store.exportLinks({ accountId: account }, async (links) => {
          await write(links.map(line).join(''));
          exported += links.length;
        });
        return exported;
      };
      if (output !== '-') {
        const exporting = interruptible((signal) => intoFile(output, exportTo, signal));
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
async function intoFile(path: string, fill: Fill, signal: AbortSignal): Promise<number> {
  const target = await followed(path);
  const found = await stat(target).catch(() => undefined);
  const isRegular = found?.isFile() ?? true;
  if (found?.isFile() && (await isBinary(target))) {
    throw new CommandFailed(`${path} is a database or another binary file; it is not replaced`);
  }
  // Its name is random, because two exports may write the same file. After a crash it stays, as that of a backup does.
  const part = isRegular ? `${target}.${randomBytes(4).toString('hex')}.part` : target;
  const file = await open(part, isRegular ? 'wx' : 'w', 0o600);
  try {
    const exported = await fill((text) => {
      signal.throwIfAborted();
      return file.writeFile(text);
    });
    if (isRegular) await file.sync();
    await file.close();
    if (isRegular) await rename(part, target);
    return exported;
  } catch (error) {
    await file.close().catch(() => undefined);
    if (isRegular) await rm(part, { force: true });
    throw error;
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
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(100) });
    return buffer.subarray(0, bytesRead).includes(0);
  } finally {
    await file.close();
  }
}
