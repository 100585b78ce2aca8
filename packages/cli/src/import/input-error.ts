import { CliError } from '../cli-error.ts';
import { EXIT_CODES } from '../exit-codes.ts';

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
