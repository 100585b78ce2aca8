import { execFile } from 'node:child_process';
import { cleanEnvironment } from './run-program.ts';

/** Options of a command. Its environment is the developer's, without variables that configure our programs. */
export interface CommandOptions {
  cwd: string;
  env?: Record<string, string> | undefined;
}

/** What npm needs behind a proxy. Our own programs would follow these too, so only npm gets them. */
const PROXIES = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(HTTPS?|NO)_PROXY$/i.test(name)),
);

/** Runs a command to its end and resolves to its standard output. Rejects with everything it printed when it fails. */
export function runCommand(
  command: string,
  args: readonly string[],
  { cwd, env }: CommandOptions,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const proxies = /^np[mx]$/.test(command) ? PROXIES : {};
    const options = {
      cwd,
      env: { ...cleanEnvironment(), ...proxies, ...env },
      maxBuffer: 16 * 1024 * 1024,
    };
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${command} ${args.join(' ')}:\n${stdout}${stderr}`, { cause: error }));
    });
  });
}
