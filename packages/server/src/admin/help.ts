import { styleText } from 'node:util';
import type { Command, Help, Option } from 'commander';
import { SETTINGS, WITHOUT_FLAG } from '../settings.ts';

/** The terminal that shows standard output. */
export interface Terminal {
  columns: number;
  hasColors: boolean;
}

/** Longest line of the help, also on a wider terminal: longer lines are hard to read. */
const MAX_WIDTH = 80;

/** With less room than this beside a name, its description stands below it. */
const MIN_DESCRIPTION_WIDTH = 24;

/** Options of most commands. Their help lists them last and in short; that of the program and of `start` has more. */
const COMMON_OPTIONS: ReadonlyMap<string, string> = new Map([
  ['--database', 'database to use [SHORTLINK_DATABASE_URL]'],
  ['--public-url', 'origin of short URLs [SHORTLINK_PUBLIC_URL]'],
  ['--json', 'print JSON'],
  ['--help', 'print help'],
]);

const bold = (text: string) => styleText('bold', text, { validateStream: false });

/** The layout of all help: commands first, then arguments, own options and common options. Commander removes colours where none are wanted. */
export function layOutHelp(program: Command, terminal: Terminal | undefined): void {
  program
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'Print help for a command.')
    .configureOutput({ getOutHasColors: () => terminal?.hasColors ?? false })
    .configureHelp({
      helpWidth: helpWidth(terminal),
      minWidthToWrap: MIN_DESCRIPTION_WIDTH,
      styleTitle: bold,
      commandUsage,
      subcommandTerm: (command) => usageOf(command, command.registeredArguments),
      optionDescription,
      formatItem,
      formatHelp,
    });
}

function helpWidth(terminal: Terminal | undefined): number {
  return Math.min(terminal?.columns ?? MAX_WIDTH, MAX_WIDTH);
}

/** `shortlink-server keys create --account <id> [options]`: what is required is named. */
function commandUsage(command: Command): string {
  const names = [command.name()];
  for (let { parent } = command; parent !== null; { parent } = parent) names.unshift(parent.name());
  const required = command.options.filter((option) => option.mandatory).map(({ flags }) => flags);
  const args = usageOf(command, command.registeredArguments).split(' ').slice(1);
  const rest = command.commands.length > 0 ? '<command>' : '[options]';
  return [...names, ...args, ...required, rest].join(' ');
}

function usageOf(command: Command, args: Command['registeredArguments']): string {
  const terms = args.map((arg) => (arg.required ? `<${arg.name()}>` : `[${arg.name()}]`));
  return [command.name(), ...terms].join(' ');
}

function optionDescription(option: Option): string {
  return option.envVar === undefined ? describe(option) : `${describe(option)} [${option.envVar}]`;
}

/** What an option is for, whether it is required, and its default. */
function describe({ description, mandatory, defaultValue }: Option): string {
  const isText = typeof defaultValue === 'string' || typeof defaultValue === 'number';
  const saysDefault = !isText || description.includes('(default:');
  return `${description}${mandatory ? ' (required)' : ''}${saysDefault ? '' : ` (default: ${defaultValue})`}`;
}

/** A name and its description, beside it or, on a narrow terminal, below it. */
function formatItem(term: string, termWidth: number, description: string, help: Help): string {
  const width = help.helpWidth ?? MAX_WIDTH;
  const indent = width - termWidth - 4 < MIN_DESCRIPTION_WIDTH ? 6 : termWidth + 4;
  const text = help
    .boxWrap(description, width - indent)
    .replaceAll('\n', `\n${' '.repeat(indent)}`);
  const gap =
    indent === 6 ? `\n${' '.repeat(6)}` : ' '.repeat(indent - 2 - help.displayWidth(term));
  return `  ${term}${description === '' ? '' : gap + text}`;
}

function formatHelp(command: Command, help: Help): string {
  const options = help.visibleOptions(command);
  const isDatabaseCommand = options.some(({ long }) => long === '--json');
  const width = help.padWidth(command, help);
  const item = (term: string, description: string) => formatItem(term, width, description, help);
  const list = (heading: string, items: string[]) => help.formatItemList(heading, items, help);
  const optionList = (heading: string, options: readonly Option[]) =>
    list(
      heading,
      options.map((option) => {
        const short = isDatabaseCommand ? COMMON_OPTIONS.get(option.long ?? '') : undefined;
        return item(help.optionTerm(option), short ?? help.optionDescription(option));
      }),
    );
  const groups = help.groupItems([...command.commands], help.visibleCommands(command), (sub) =>
    sub.helpGroup() === '' ? 'Commands:' : sub.helpGroup(),
  );
  const common = isDatabaseCommand
    ? options.filter(({ long }) => COMMON_OPTIONS.has(long ?? ''))
    : [];
  const usage = `${help.styleTitle('Usage:')} ${help.commandUsage(command)}`;
  const lineWidth = help.helpWidth ?? MAX_WIDTH;
  return [
    help.boxWrap(usage, lineWidth).replaceAll('\n', '\n  '),
    '',
    help.boxWrap(help.commandDescription(command), lineWidth),
    '',
    ...[...groups].flatMap(([heading, commands]) =>
      list(
        heading,
        commands.map((sub) => item(help.subcommandTerm(sub), help.subcommandDescription(sub))),
      ),
    ),
    ...list(
      'Arguments:',
      help
        .visibleArguments(command)
        .map((argument) => item(help.argumentTerm(argument), help.argumentDescription(argument))),
    ),
    ...optionList(
      'Options:',
      options.filter((option) => !common.includes(option)),
    ),
    ...optionList('Common options:', common),
  ].join('\n');
}

/** Examples at the end of a command's help. */
export function examples(command: Command, ...lines: readonly string[]): Command {
  return command.addHelpText('after', () => {
    const { helpWidth = MAX_WIDTH } = command.createHelp();
    const shown = lines.map((line) => continued(`  $ shortlink-server ${line}`, helpWidth));
    return ['', bold('Examples:'), ...shown].join('\n');
  });
}

/** A command line that is too long continues on the next line, before the last option that fits no more. */
function continued(line: string, width: number): string {
  const at = line.length <= width ? -1 : line.lastIndexOf(' --', width - 2);
  return at <= 5 ? line : `${line.slice(0, at)} \\\n     ${continued(line.slice(at), width)}`;
}

/** The variables of all settings, or of those that have no flag. */
export function variablesHelp(command: Command, which: 'all' | 'without a flag'): void {
  command.addHelpText('after', () => {
    const help = command.createHelp();
    const width = Math.min(help.helpWidth ?? MAX_WIDTH, MAX_WIDTH);
    const shown = Object.entries(SETTINGS).filter(
      ([name]) => which === 'all' || WITHOUT_FLAG.some((secret) => secret === name),
    );
    const column = Math.max(...shown.map(([, { option }]) => option.envVar?.length ?? 0));
    const lines = shown.map(([, { option }]) =>
      formatItem(option.envVar ?? '', column, describe(option), help),
    );
    const notes =
      'A flag of start wins over its variable. Add _FILE to the name of a variable to give a file that holds the value.';
    const heading =
      which === 'all'
        ? 'Settings:'
        : 'Settings without a flag, because others can read command lines:';
    return ['', bold(help.boxWrap(heading, width)), ...lines, '', help.boxWrap(notes, width)].join(
      '\n',
    );
  });
}
