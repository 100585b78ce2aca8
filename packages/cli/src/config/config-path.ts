import { isAbsolute, join } from 'node:path';
import type { Io } from '../io.ts';

/**
 * Where the settings are kept: `$XDG_CONFIG_HOME/shortlink/config.json`, by default below `~/.config`; below `%APPDATA%`
 * on Windows. A relative XDG_CONFIG_HOME is ignored, as the XDG Base Directory Specification asks.
 */
export function configPath(io: Pick<Io, 'env' | 'home' | 'platform'>): string {
  const xdg = io.env['XDG_CONFIG_HOME'];
  if (xdg !== undefined && isAbsolute(xdg)) {
    return join(xdg, 'shortlink', 'config.json');
  }
  const appData = io.env['APPDATA'];
  if (io.platform === 'win32' && appData !== undefined && isAbsolute(appData)) {
    return join(appData, 'shortlink', 'config.json');
  }
  return join(io.home, '.config', 'shortlink', 'config.json');
}
