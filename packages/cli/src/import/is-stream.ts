import { statSync } from 'node:fs';

/** A file that the shell opened has no name of its own there either. */
const OWN_STREAM = /^\/(?:dev\/(?:std(?:in|out|err)|fd\/\d+)|proc\/self\/fd\/\d+)$/;

/** Whether a path names an open file of this process or a pipe, such as that of `<(program)`: no file can be beside it or have its name. */
export function isStream(file: string): boolean {
  if (file === '-' || OWN_STREAM.test(file)) return true;
  try {
    const stats = statSync(file);
    return !stats.isFile() && !stats.isDirectory();
  } catch {
    // It is refused when it is opened.
    return false;
  }
}
