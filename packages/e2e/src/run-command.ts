import { execFile } from 'node:child_process';
import { cleanEnvironment } from './run-program.ts';

/** Options of a command. Its environment is the developer's, without variables that configure our programs. */
export interface CommandOptions {
  cwd: string;
  env?: Record<string, string> | undefined;
}

/** Runs a command to its end and resolves to its standard output. Rejects with everything it printed when it fails. */
export function runCommand(
  command: string,
  args: readonly string[],
  { cwd, env }: CommandOptions,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { cwd, env: { ...cleanEnvironment(), ...env }, maxBuffer: 16 * 1024 * 1024 };
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${command} ${args.join(' ')}:\n${stdout}${stderr}`, { cause: error }));
    });
  });
}
