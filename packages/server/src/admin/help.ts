import { styleText } from 'node:util';
import { type Command, Help } from 'commander';
import { SETTINGS, WITHOUT_FLAG } from '../settings.ts';

/** The terminal that shows standard output. */
export interface Terminal {
  columns: number;
  hasColors: boolean;
}

/** Longest line of the help, also on a wider terminal: longer lines are hard to read. */
const MAX_WIDTH = 80;

const bold = (text: string) => styleText('bold', text, { validateStream: false });

/** Commander's own help, in at most {@link MAX_WIDTH} columns. Commander removes colours where none are wanted. */
export function layOutHelp(program: Command, terminal: Terminal | undefined): void {
  const help = new Help();
  program
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'Print help for a command.')
    .configureOutput({ getOutHasColors: () => terminal?.hasColors ?? false })
    .configureHelp({
      helpWidth: Math.min(terminal?.columns ?? MAX_WIDTH, MAX_WIDTH),
      styleTitle: bold,
      optionDescription: (option) =>
        help.optionDescription(option) + (option.mandatory ? ' (required)' : ''),
    });
}

/** Adds a command with its description, and examples of its use. */
export function addCommand(
  parent: Command,
  usage: string,
  description: string,
  ...lines: readonly string[]
): Command {
  return examples(parent.command(usage).description(description), ...lines);
}

/** Examples at the end of a command's help. */
export function examples(command: Command, ...lines: readonly string[]): Command {
  const shown = lines.map((line) => `  $ shortlink-server ${line}`);
  return command.addHelpText('after', ['', bold('Examples:'), ...shown].join('\n'));
}

/** The variables of all settings, or of those that have no flag. */
export function variablesHelp(command: Command, which: 'all' | 'without a flag'): void {
  command.addHelpText('after', () => {
    const help = command.createHelp();
    const shown = Object.entries(SETTINGS)
      .filter(([name]) => which === 'all' || WITHOUT_FLAG.some((secret) => secret === name))
      .map(([, { option }]) => option);
    const column = Math.max(...shown.map(({ envVar = '' }) => envVar.length));
    const lines = shown.map(({ envVar = '', description, defaultValue }) => {
      const fallback = defaultValue === undefined ? '' : ` (default: ${defaultValue})`;
      return help.formatItem(envVar, column, description + fallback, help);
    });
    const secrets = 'Settings without a flag, because others can read command lines:';
    const notes = `A flag of start wins over its variable. Add _FILE to the name of a variable to
give a file that holds the value.`;
    return ['', bold(which === 'all' ? 'Settings:' : secrets), ...lines, '', notes].join('\n');
  });
}
