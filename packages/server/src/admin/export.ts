import { randomUUID } from 'node:crypto';
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

/** `links export`: everything that is kept of links, as it was at one moment. */
export function registerExport(links: AdminCommand): void {
  const { write, err } = links.context;
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
      const exportTo = async (write: Write): Promise<number> => {
        await write(header);
        let exported = 0;
        await store.exportLinks({ accountId: account }, async (links) => {
          await write(links.map(line).join(''));
          exported += links.length;
        });
        return exported;
      };
      const exported = await (output === '-' ? exportTo(write) : intoFile(output, exportTo));
      if (output !== '-') return { json: { exported, file: output } };
      err(`${exported} ${exported === 1 ? 'link' : 'links'} exported`);
      return undefined;
    });
}

type Write = (text: string) => Promise<void>;

/** Replaces the file once all is on the disk: what a symbolic link leads to, not the link. Devices and pipes are written into. */
async function intoFile(path: string, fill: (write: Write) => Promise<number>): Promise<number> {
  const target = await followed(path);
  const found = await stat(target).catch(() => undefined);
  const isRegular = found?.isFile() ?? true;
  if (found?.isFile() && (await isBinary(target))) {
    throw new CommandFailed(`${path} is a database or another binary file; it is not replaced`);
  }
  // Of two exports into one file, each has a part of its own.
  const part = isRegular ? `${target}.${randomUUID()}.part` : target;
  const file = await open(part, isRegular ? 'wx' : 'w', 0o600);
  try {
    const exported = await fill((text) => file.writeFile(text));
    if (isRegular) await file.sync();
    await file.close();
    if (isRegular) await rename(part, target);
    return exported;
  } catch (error) {
    await file.close().catch(() => undefined);
    if (isRegular) await rm(part, { force: true });
    // Of a disk that is full, the system's error does not say which file it was.
    const isSystems = error instanceof Error && 'syscall' in error;
    throw isSystems ? new CommandFailed(`${path}: ${error.message}`) : error;
  }
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
