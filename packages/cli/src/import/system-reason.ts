import { CliError } from '../cli-error.ts';
import { EXIT_CODES } from '../exit-codes.ts';

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
