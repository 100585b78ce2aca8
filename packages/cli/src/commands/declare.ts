import type { RedirectType } from '@shortlink/sdk';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ExitCode } from '../cli-error.ts';
import type { Context } from '../context.ts';
import { examples } from './help.ts';

/** Runs a command that was parsed. A function of its file turns arguments and options into typed input, and another one does the work. */
export type Perform = (command: Command, act: Act<[]>) => Promise<void>;

type Act<Values extends unknown[]> = (context: Context, ...values: Values) => Promise<ExitCode>;

/** Its help, command lines to try, and what it does with its arguments and options. */
export interface Declaration<Values extends unknown[]> {
  name: string;
  description: string;
  tries: readonly string[];
  /** Undefined for a command that only has subcommands. */
  act?: Act<Values>;
}

/** Adds a command. `act` gets the arguments that are declared on what is returned one by one, then all options. */
export function declareCommand<Values extends unknown[]>(
  parent: Command,
  perform: Perform,
  { name, description, tries, act }: Declaration<Values>,
): Command {
  const command = parent.command(name).description(description);
  command.addHelpText('after', examples(...tries));
  if (act === undefined) return command;
  return command.action((...all: unknown[]) =>
    perform(command, (context) => act(context, ...(all.slice(0, -1) as Values))),
  );
}

/** What stands for standard input on the command line, and for standard output. */
export const STANDARD_STREAM = '-';

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `5m`, `26h`, `1d`, `500ms`, `1.5h`; a bare number is seconds. In milliseconds. */
export function parseDuration(value: string): number {
  const [, amount, unit = 's'] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/i.exec(value.trim()) ?? [];
  const ms = Math.ceil(Number(amount) * Number(UNITS[unit.toLowerCase()]));
  if (Number.isSafeInteger(ms)) return ms;
  throw new InvalidArgumentError('A duration looks like 90s, 5m, 26h or 1d.');
}

export function parseCount(min: number, max: number) {
  return (value: string): number => {
    const count = /^\d+$/.test(value) ? Number(value) : Number.NaN;
    if (count >= min && count <= max) return count;
    const most = max === Number.MAX_SAFE_INTEGER ? 'up' : `to ${max}`;
    throw new InvalidArgumentError(`It must be a whole number from ${min} ${most}.`);
  };
}

export function parseCountOr<W extends string>(word: W, min: number, max: number) {
  const parse = parseCount(min, max);
  return (value: string): number | W => (value === word ? word : parse(value));
}

/** An empty text is probably a variable that is not set. */
export function parseText(value: string): string {
  const text = value.trim();
  if (text === '') throw new InvalidArgumentError('It must not be empty.');
  return text;
}

/** The name of a file of ours. With the ending of another format, every program would take it for that. */
export const parseNameOf = (what: string, others: RegExp) => (path: string) => {
  if (!others.test(path)) return path;
  throw new InvalidArgumentError(`${what}, and ${path} would be something else.`);
};

/** For options that may be given several times. */
export function collect(value: string, previous: readonly string[] | undefined): string[] {
  return [...(previous ?? []), parseText(value)];
}

/** The client has this constant, too, but is loaded later. */
export const MAX_BATCH_LINKS = 10_000;

const REDIRECT_TYPES = [301, 302, 307] as const satisfies RedirectType[];

export const redirectTypeOption = (description: string) =>
  new Option('--redirect-type <status>', description)
    .choices(REDIRECT_TYPES.map(String))
    .default(undefined, '302');

/** commander has checked the redirect type against its choices. */
export interface LinkOptions {
  tag?: string[];
  domain?: string;
  redirectType?: string;
}

export function linkFields({ tag: tags, domain: domain_id, redirectType }: LinkOptions) {
  const redirect_type = REDIRECT_TYPES.find((type) => String(type) === redirectType);
  return { tags, domain_id, redirect_type };
}
