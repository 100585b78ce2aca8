import type { Argument, Command, Help, HelpConfiguration } from 'commander';
import { createStyle } from '../output/style.ts';
import { wrapWords } from '../output/wrap.ts';

/** Bold. commander removes the escapes where there are no colours. */
export const heading = createStyle(true).bold;

/** Command lines, for the end of a command's help. */
export function examples(...lines: readonly string[]): string {
  return ['', heading('Examples:'), ...lines.map((line) => `  $ ${line}`)].join('\n');
}

/** The first sentence of a description, or what comes before its colon: for lists and for shells, which have one line for it. */
export function firstSentence(text: string): string {
  return text.split(/(?<=\.) |[:;] /, 1)[0]?.replace(/\.$/, '') ?? '';
}

/** Columns that a description needs beside its term; with fewer it stands below it. */
const LEAST_DESCRIPTION = 34;

/** How help is laid out: commands first, and of the global options, below a command, only where to find them. */
export const HELP: HelpConfiguration = {
  // For completion; `formatHelp` doesn't list them.
  showGlobalOptions: true,
  minWidthToWrap: 20,
  styleTitle: heading,
  subcommandTerm: (command) =>
    [command.name(), ...command.registeredArguments.map(termOf)].join(' '),
  subcommandDescription: (command) => firstSentence(command.description()),
  optionDescription: ({ description, argChoices = [], defaultValue, defaultValueDescription }) => {
    const usual = defaultValueDescription ?? defaultValue;
    const more = [
      ...(argChoices.length > 0 ? [argChoices.join(', ')] : []),
      ...(usual === undefined || typeof usual === 'boolean' ? [] : [`default: ${usual}`]),
    ];
    return more.length === 0 ? description : `${description} (${more.join('; ')})`;
  },
  formatHelp,
};

function termOf(argument: Argument): string {
  const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${text}>` : `[${text}]`;
}

function formatHelp(command: Command, helper: Help): string {
  const width = helper.helpWidth ?? 80;
  const isRoot = command.parent === null;
  const paragraphs: string[] = [];
  const paragraph = (text: string) => paragraphs.push(wrapWords(text, width));
  const list = (heading: string, items: readonly (readonly [term: string, text: string])[]) => {
    if (items.length === 0) return;
    const termWidth = Math.max(...items.map(([term]) => term.length));
    const isNarrow = width - termWidth - 4 < LEAST_DESCRIPTION;
    const lines = items.map(([term, text]) =>
      isNarrow
        ? `  ${term}\n${wrapWords(`      ${text}`, width)}`
        : helper.formatItem(term, termWidth, text, helper),
    );
    paragraphs.push([helper.styleTitle(heading), ...lines].join('\n'));
  };

  paragraphs.push(`${helper.styleTitle('Usage:')} ${helper.commandUsage(command)}`);
  paragraph(helper.commandDescription(command));
  list(
    'Commands:',
    helper
      .visibleCommands(command)
      .filter((sub) => isRoot || sub.name() !== 'help')
      .map((sub) => [helper.subcommandTerm(sub), helper.subcommandDescription(sub)]),
  );
  list(
    'Arguments:',
    helper
      .visibleArguments(command)
      .map((argument) => [argument.name(), helper.argumentDescription(argument)]),
  );
  const shown = helper.visibleOptions(command).filter(({ long }) => isRoot || long !== '--help');
  const groups = Map.groupBy(shown, ({ helpGroupHeading = 'Options:' }) =>
    isRoot ? 'Global options:' : helpGroupHeading,
  );
  for (const [heading, options] of groups) {
    list(
      heading,
      options.map((option) => [helper.optionTerm(option), helper.optionDescription(option)]),
    );
  }
  if (!isRoot) {
    paragraph('Global options, such as --json and --profile: shortlink --help');
  }
  return `${paragraphs.join('\n\n')}\n`;
}
