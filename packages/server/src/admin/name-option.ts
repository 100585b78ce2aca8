import { InvalidArgumentError } from 'commander';

const MAX_NAME_LENGTH = 200;

/** A name that people read: not empty, not endless, one line. */
export function parseName(text: string): string {
  const name = text.trim();
  if (name === '' || name.length > MAX_NAME_LENGTH || /\p{Cc}|\p{Surrogate}/u.test(name)) {
    throw new InvalidArgumentError(`Expected 1 to ${MAX_NAME_LENGTH} characters on one line.`);
  }
  return name;
}
