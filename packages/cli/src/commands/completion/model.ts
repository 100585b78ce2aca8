import type { Argument, Command, Option } from 'commander';
import { firstSentence } from '../help.ts';

/** What can follow an option or stand as an argument. */
export type ValueModel =
  | { kind: 'choices'; values: readonly string[] }
  | { kind: 'file' }
  /** Anything: nothing can be offered. */
  | { kind: 'free' };

export interface OptionModel {
  /** `-o` and `--output`, or one of them. */
  names: string[];
  description: string;
  /** Undefined for a flag that takes no value. */
  value: ValueModel | undefined;
}

interface ArgumentModel {
  name: string;
  value: ValueModel;
  /** Whether it also stands for all that follow it. */
  variadic: boolean;
}

export interface CommandModel {
  /** Words of the command, the program's name first: `shortlink job wait`. */
  path: string;
  subcommands: { name: string; description: string }[];
  /** Its own and the global ones. */
  options: OptionModel[];
  arguments: ArgumentModel[];
}

/**
 * The whole command line as data, the program first. It is read from the same declarations that parse arguments and
 * print help, so a completion script never offers what isn't there.
 */
export function describeCommands(program: Command): CommandModel[] {
  return describe(program, program.name());
}

function describe(command: Command, path: string): CommandModel[] {
  const help = command.createHelp();
  // The implicit `help` command is among the visible ones, but is no declared command.
  const subcommands = help.visibleCommands(command);
  const own: CommandModel = {
    path,
    subcommands: subcommands.map((sub) => ({
      name: sub.name(),
      description: firstSentence(sub.description()),
    })),
    options: [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)].map(
      describeOption,
    ),
    arguments: command.registeredArguments.map(describeArgument),
  };
  return [own, ...subcommands.flatMap((sub) => describe(sub, `${path} ${sub.name()}`))];
}

function describeOption(option: Option): OptionModel {
  const takesValue = option.required || option.optional;
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: firstSentence(option.description),
    value: takesValue ? valueModel(option.argChoices, placeholder(option.flags)) : undefined,
  };
}

function describeArgument(argument: Argument): ArgumentModel {
  const name = argument.name();
  return { name, value: valueModel(argument.argChoices, name), variadic: argument.variadic };
}

/** Options and arguments that are files are declared as `<file>`. */
function valueModel(choices: readonly string[] | undefined, name: string): ValueModel {
  if (choices !== undefined) return { kind: 'choices', values: choices };
  return name === 'file' ? { kind: 'file' } : { kind: 'free' };
}

function placeholder(flags: string): string {
  return /[<[]([^>\].]+)/.exec(flags)?.[1] ?? '';
}
