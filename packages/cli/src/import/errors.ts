import { CliError, EXIT_CODES } from '../cli-error.ts';

/** The input, or what was asked of it, can't be imported, and nothing was sent: exit code 2. */
export function inputError(message: string, hint?: string): CliError {
  return new CliError(message, { code: 'input', exitCode: EXIT_CODES.usage, hint });
}

/** Characters of a cell that a message shows; the rest would only push the sentence off the screen. */
const MAX_SHOWN_CHARACTERS = 80;

/** A cell or line as messages quote it. */
export function shown(text: string): string {
  const cut = text.length > MAX_SHOWN_CHARACTERS ? `${text.slice(0, MAX_SHOWN_CHARACTERS)}…` : text;
  return JSON.stringify(cut);
}

const WORDS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a directory',
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of its path is no folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'files may not become so large here',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an error',
  EPIPE: 'nobody reads it any more',
  ENXIO: 'nobody reads it',
  ELOOP: 'it is a chain of links that ends nowhere',
  ENAMETOOLONG: 'its name is too long',
  EBUSY: 'it is in use',
};

/** What the system said, in words. */
export function systemReason(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return WORDS[code] ?? (cause instanceof Error ? cause.message : String(cause));
}

/** A file of an import that is under way can't be written any more: exit code 1, and the same command goes on. */
export function writeError(path: string, cause: unknown): CliError {
  return new CliError(`${path} can't be written: ${systemReason(cause)}.`, {
    code: 'system',
    exitCode: EXIT_CODES.error,
    cause,
  });
}
