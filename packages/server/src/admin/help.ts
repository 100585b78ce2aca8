import { Help } from 'commander';
import { FLAGS, SETTINGS } from '../settings.ts';
import { type AdminCommand, bold } from './command.ts';

/** Longest line of the help, also on a wider terminal: longer lines are hard to read. */
const MAX_WIDTH = 80;

/** Commander's own help, in at most {@link MAX_WIDTH} columns. */
export function layOutHelp(program: AdminCommand): void {
  const help = new Help();
  program
    .helpOption('-h, --help', 'print help')
    .helpCommand('help [command]', 'Print help for a command.')
    .configureHelp({
      helpWidth: Math.min(program.context.columns ?? MAX_WIDTH, MAX_WIDTH),
      styleTitle: bold,
      optionDescription: (option) =>
        help.optionDescription(option) + (option.mandatory ? ' (required)' : ''),
    });
}

/** The variables of all settings, or of those that have no flag. */
export function variablesHelp(command: AdminCommand, which: 'all' | 'without a flag'): void {
  const options = Object.values(SETTINGS).map(({ option }) => option);
  const shown = options.filter((option) => which === 'all' || !FLAGS.includes(option));
  const column = Math.max(...shown.map(({ envVar = '' }) => envVar.length));
  command.addHelpText('after', () => {
    const help = command.createHelp();
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
