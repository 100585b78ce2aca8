import { type Command, Help, type HelpConfiguration } from 'commander';
import { EXIT_CODES, type ExitCode } from '../cli-error.ts';
import { createStyle } from '../output/style.ts';
import { wrapWords } from '../output/wrap.ts';

/** commander removes the escapes where there are no colours. */
export const heading = createStyle(true).bold;

export function examples(...lines: readonly string[]): string {
  return ['', heading('Examples:'), ...lines.map((line) => `  $ ${line}`)].join('\n');
}

/** The first sentence of a description, for lists and for shells, which have one line for it. */
export function firstSentence(text: string): string {
  return text.split(/(?<=\.) |[:;] /, 1)[0]?.replace(/\.$/, '') ?? '';
}

/** A description with fewer columns beside its term stands below it. */
const LEAST_DESCRIPTION = 34;

const MEANINGS: Readonly<Record<ExitCode, string>> = {
  [EXIT_CODES.ok]: 'done, nothing is wrong',
  [EXIT_CODES.error]: 'unexpected error',
  [EXIT_CODES.usage]: 'wrong usage or input',
  [EXIT_CODES.rowsFailed]: 'links rejected, failed or wrong',
  [EXIT_CODES.authentication]: 'authentication or permission',
  [EXIT_CODES.planLimit]: 'plan limit',
  [EXIT_CODES.rateLimit]: 'rate limit with too long a wait',
  [EXIT_CODES.unknownFate]: 'unknown if some links exist',
  [EXIT_CODES.changes]: 'new links, none expected',
  [EXIT_CODES.interrupted]: 'interrupted',
};

/** The exit codes of each command besides 0, 1, 2 and 130. A command that is not listed may end with any. */
const OWN_CODES: Readonly<Record<string, readonly ExitCode[]>> = {
  create: [3, 4, 5, 6, 7],
  job: [3, 4, 6],
  verify: [3],
  usage: [4, 6],
  auth: [4, 6],
  config: [],
  completion: [],
};

function exitCodesOf(command: Command): [code: string, meaning: string][] {
  const top = command.parent?.parent ? command.parent : command;
  const own = OWN_CODES[top.name()];
  const all = Object.entries(MEANINGS);
  return own === undefined ? all : all.filter(([code]) => [0, 1, 2, 130, ...own].includes(+code));
}

/** Below a command, the global options are only named. */
export const HELP: HelpConfiguration = {
  // For completion.
  showGlobalOptions: true,
  minWidthToWrap: 20,
  styleTitle: heading,
  subcommandTerm: (command) => new Help().subcommandTerm(command).replace(' [options]', ''),
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

function formatHelp(command: Command, helper: Help): string {
  const width = helper.helpWidth ?? 80;
  const isRoot = command.parent === null;
  const paragraphs: string[] = [];
  const paragraph = (text: string) => paragraphs.push(wrapWords(text, width));
  const list = <T>(heading: string, all: readonly T[], write: (one: T) => [string, string]) => {
    const items = all.map(write);
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
  const subs = helper.visibleCommands(command).filter((sub) => isRoot || sub.name() !== 'help');
  list('Commands:', subs, (sub) => [helper.subcommandTerm(sub), helper.subcommandDescription(sub)]);
  list('Arguments:', helper.visibleArguments(command), (one) => [
    one.name(),
    helper.argumentDescription(one),
  ]);
  const shown = helper.visibleOptions(command).filter(({ long }) => isRoot || long !== '--help');
  const groups = Map.groupBy(shown, ({ helpGroupHeading = 'Options:' }) =>
    isRoot ? 'Global options:' : helpGroupHeading,
  );
  for (const [heading, options] of groups) {
    list(heading, options, (one) => [helper.optionTerm(one), helper.optionDescription(one)]);
  }
  const codes = exitCodesOf(command).map(([code, text]) => `${code.padStart(5)}  ${text}`);
  paragraphs.push([helper.styleTitle('Exit codes:'), ...codes].join('\n'));
  if (!isRoot) paragraph('Global options, such as --json and --profile: shortlink --help');
  return `${paragraphs.join('\n\n')}\n`;
}
