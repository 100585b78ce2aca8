import { chmod, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { usageError } from '../cli-error.ts';
import type { Io } from '../io.ts';
import type { Config } from './config-schema.ts';

/** Only the owner may read or write the file, because it holds API keys. */
const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;
const OTHERS = 0o077;

interface LoadedConfig {
  config: Config;
  /** A warning for the user, such as about permissions that were too wide. */
  warning?: string | undefined;
}

/** Reads the config file; without one, nothing is set. */
export async function readConfig(path: string, platform: NodeJS.Platform): Promise<LoadedConfig> {
  const content = await readIfThere(path);
  if (content === undefined) return { config: { profiles: {} } };
  const config = await checkConfig(path, content.text);
  const tooWide = platform !== 'win32' && (content.mode & OTHERS) !== 0;
  return { config, warning: tooWide ? await narrow(path, content.mode) : undefined };
}

/** Replaces the config file, made with mode 0600 in a directory of mode 0700. */
export async function writeConfig(path: string, config: Config): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: DIRECTORY_MODE });
  await writeFileAtomic(path, `${JSON.stringify(config, null, 2)}\n`);
}

/** The config with the profile added or replaced. */
export function withProfile(
  config: Config,
  name: string,
  profile: Config['profiles'][string],
): Config {
  return { ...config, profiles: { ...config.profiles, [name]: profile } };
}

async function readIfThere(path: string): Promise<{ text: string; mode: number } | undefined> {
  try {
    const file = await open(path, 'r');
    try {
      const { mode } = await file.stat();
      return { text: await file.readFile('utf8'), mode };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    const reason = error instanceof Error ? error.message : String(error);
    throw usageError(`Can't read the config file ${path}: ${reason}`);
  }
}

async function checkConfig(path: string, text: string): Promise<Config> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text around the error, which may be an API key.
    throw usageError(`The config file ${path} is not valid JSON.`, REPAIR_HINT);
  }
  // zod costs more start-up time than the rest of a command: it is loaded only when there is a file to check.
  const { parseConfig } = await import('./config-schema.ts');
  const parsed = parseConfig(value);
  if (!parsed.ok) {
    throw usageError(`The config file ${path} is not valid: ${parsed.problem}`, REPAIR_HINT);
  }
  return parsed.config;
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
 * Where the settings are kept: `$XDG_CONFIG_HOME/shortlink/config.json`, by default below `~/.config`; below `%APPDATA%`
 * on Windows. A relative XDG_CONFIG_HOME is ignored, as the XDG Base Directory Specification asks.
 */
export function configPath(io: Pick<Io, 'env' | 'home' | 'platform'>): string {
  const xdg = io.env['XDG_CONFIG_HOME'];
  if (xdg !== undefined && isAbsolute(xdg)) return join(xdg, 'shortlink', 'config.json');
  const appData = io.env['APPDATA'];
  if (io.platform === 'win32' && appData !== undefined && isAbsolute(appData)) {
    return join(appData, 'shortlink', 'config.json');
  }
  return join(io.home, '.config', 'shortlink', 'config.json');
}

/**
 * Writes a file whole or not at all: to a new file beside it, synced, then renamed over it. A reader sees the old
 * content or the new, and a crash leaves the old. The mode is set when the file is made, so that a secret is at no
 * moment readable by others.
 */
async function writeFileAtomic(path: string, text: string): Promise<void> {
  const temporary = `${path}.${crypto.randomUUID()}.tmp`;
  try {
    const file = await open(temporary, 'wx', FILE_MODE);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
