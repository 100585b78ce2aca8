import { parseArgs } from 'node:util';

/** What the command line asks for. */
export interface BenchOptions {
  suite: string;
  /** Sections to run; empty is all of them. */
  only: readonly string[];
  rounds: number;
  scale: number;
  large: boolean;
  json: boolean;
}

/** A command line that can't be used; the message says what is accepted. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

export const DEFAULT_ROUNDS = 7;

/** @throws UsageError */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parse(args);
  const [suite = '', ...rest] = positionals;
  if (suite === '' || rest.length > 0) throw new UsageError('name one suite');
  return {
    suite,
    only: values.only ?? [],
    rounds: positive('--rounds', values.rounds, DEFAULT_ROUNDS),
    scale: positive('--scale', values.scale, 1),
    large: values.large ?? false,
    json: values.json ?? false,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        only: { type: 'string', multiple: true },
        rounds: { type: 'string' },
        scale: { type: 'string' },
        large: { type: 'boolean' },
        json: { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function positive(name: string, text: string | undefined, whenNotGiven: number): number {
  if (text === undefined) return whenNotGiven;
  const value = Number(text);
  if (!(value > 0)) throw new UsageError(`${name} is "${text}"; expected a number above 0`);
  return value;
}
