import { tmpdir } from 'node:os';

/** `conflict`: git has left markers in the text. `system`: the temporary folder is full, which is no fault of the input. */
type InputErrorCode = 'input' | 'conflict' | 'system';

/** The input can't be read as it is, or with these options: `message` says what is wrong and where, `hint` what to do. */
export class InputError extends Error {
  override readonly name = 'InputError';
  readonly code: InputErrorCode;
  readonly hint: string | undefined;

  constructor(
    message: string,
    options: { code?: InputErrorCode; hint?: string | undefined; cause?: unknown } = {},
  ) {
    super(message, { cause: options.cause });
    this.code = options.code ?? 'input';
    this.hint = options.hint;
  }
}

export function inputError(message: string, hint?: string): InputError {
  return new InputError(message, { hint });
}

/** What git writes around the two sides of a conflict. */
const CONFLICT = /^(?:<{7} |={7}$|>{7} )/;

/** @throws InputError where a line was left by a merge: what stands around it are two versions of the same rows */
export function refuseConflict(name: string, line: number, text: string): void {
  if (!CONFLICT.test(text)) return;
  throw new InputError(`${name}, line ${line}: ${shown(text)} is a conflict marker of git`, {
    code: 'conflict',
    hint: 'Resolve the conflict, so that each row is there once, and run the command again.',
  });
}

/** Characters of a cell that a message shows; more would only hide the rest of the message. */
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
  ENOTDIR: 'a part of its path is not a folder',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is exceeded',
  EFBIG: 'files may not become so large here',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an error',
  EPIPE: 'its reader has closed it',
  ENXIO: 'it has no reader',
  ELOOP: 'it is a chain of symbolic links without an end',
  ENAMETOOLONG: 'its name is too long',
  EBUSY: 'it is in use',
};

/** The error of the operating system in words. */
export function systemReason(cause: unknown): string {
  return WORDS[codeOf(cause)] ?? (cause instanceof Error ? cause.message : String(cause));
}

/** The temporary folder may be full when an input is copied or unpacked; other errors stay as they are. */
export function temporaryError(cause: unknown): unknown {
  if (!['ENOSPC', 'EDQUOT', 'EFBIG'].includes(codeOf(cause))) return cause;
  const message = `The temporary folder ${tmpdir()} can't be written: ${systemReason(cause)}. TMPDIR names another one.`;
  return new InputError(message, { code: 'system', cause });
}

export function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : '';
}
