import { chmod, mkdir, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hasCode, usageError } from '../cli-error.ts';
import type { Io } from '../io.ts';
import type { Config } from './config-schema.ts';

/** The file holds API keys. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;
const OTHERS = 0o077;

/** Without a config file, nothing is set. `warning` says that the permissions were too wide. */
export async function readConfig(
  path: string,
  platform: NodeJS.Platform,
): Promise<{ config: Config; warning?: string | undefined }> {
  const content = await readIfThere(path);
  if (content === undefined) return { config: { profiles: {} } };
  const config = await checkConfig(path, content.text);
  const tooWide = platform !== 'win32' && (content.mode & OTHERS) !== 0;
  return { config, warning: tooWide ? await narrow(path, content.mode) : undefined };
}

/**
 * Replaces the config file with what `change` makes of its content, one process after the other. A reader sees the old content or the new, a crash
 * leaves the old, and the keys are never readable by others.
 */
export async function changeConfig(
  { configPath: path, io: { platform } }: { configPath: string; io: Io },
  change: (config: Config) => void,
): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
  // A link, such as that of a folder of dotfiles, stays.
  const target = await realpath(path).catch(() => path);
  // One process at a time can make it. Who has had it for five seconds was killed, and so was who made it in the future: the clock was set back.
  const temporary = `${target}.new`;
  const make = () => writeFile(temporary, '', { flag: 'wx', mode: FILE_MODE });
  const isTaken = (error: unknown) => hasCode(error, 'EEXIST') || Promise.reject(error);
  while ((await make().catch(isTaken)) === true) {
    await delay(10);
    const { mtimeMs } = await stat(temporary).catch(() => ({ mtimeMs: Number.NaN }));
    if (Math.abs(Date.now() - mtimeMs) > 5_000) await rm(temporary, { force: true });
  }
  try {
    const { config } = await readConfig(path, platform);
    change(config);
    await writeFile(temporary, `${JSON.stringify(config, null, 2)}\n`, { flush: true });
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

async function readIfThere(path: string): Promise<{ text: string; mode: number } | undefined> {
  try {
    const { mode } = await stat(path);
    return { text: await readFile(path, 'utf8'), mode };
  } catch (error) {
    // The home of a user without one is often /dev/null, in which nothing can be.
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    throw usageError(`Can't read the config file ${path}: ${reason}`);
  }
}

async function checkConfig(path: string, text: string): Promise<Config> {
  let value: unknown;
  try {
    // Editors of Windows begin a file with a byte order mark.
    value = JSON.parse(text.replace(/^\ufeff/, ''));
  } catch {
    // The parser's message quotes the text around the error, which may be an API key.
    throw usageError(`The config file ${path} is not valid JSON.`, REPAIR_HINT);
  }
  // zod costs more start-up time than the rest of a command.
  const { parseConfig } = await import('./config-schema.ts');
  const parsed = parseConfig(value);
  if (typeof parsed !== 'string') return parsed;
  throw usageError(`The config file ${path} is not valid: ${parsed}`, REPAIR_HINT);
}

const REPAIR_HINT = 'Correct the file. Or delete it and run: shortlink auth login';

async function narrow(path: string, mode: number): Promise<string> {
  const found = (mode & 0o777).toString(8).padStart(4, '0');
  try {
    await chmod(path, FILE_MODE);
    return `${path} was open to other users (mode ${found}); it is 0600 now.`;
  } catch {
    return `${path} is open to other users (mode ${found}) and holds API keys. Run: chmod 600 '${path}'`;
  }
}

/**
 * `$XDG_CONFIG_HOME/shortlink/config.json`, by default below `~/.config`; below `%APPDATA%` on Windows. A relative XDG_CONFIG_HOME is ignored,
 * as the XDG Base Directory Specification asks.
 */
export function configPath({ env, home, platform }: Pick<Io, 'env' | 'home' | 'platform'>): string {
  const named = [env['XDG_CONFIG_HOME'], platform === 'win32' ? env['APPDATA'] : undefined];
  const folder = named.find((path) => path !== undefined && isAbsolute(path));
  return join(folder ?? join(home, '.config'), 'shortlink', 'config.json');
}
