import { Readable } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type { Command, Option } from 'commander';
import { processIo } from '../../cli/src/io.ts';
import { buildProgram as buildCli } from '../../cli/src/program.ts';
import { buildProgram as buildServer } from '../../server/src/admin/program.ts';
import { code, shown, table } from './markdown.ts';

/** The page of `shortlink`, from what it declares to commander. */
export function cliPage(): string {
  const program = buildCli({ ...processIo(), env: { NO_COLOR: '1' } }, false, async () => {});
  return commandPage(program, 'The `shortlink` command');
}

/** The page of `shortlink-server`. */
export function serverPage(): string {
  const unused = async () => {
    throw new Error('A page runs no command.');
  };
  const print = () => {};
  const program = buildServer(
    {
      env: {},
      stdin: Readable.from([]),
      write: unused,
      err: print,
      now: Date.now,
      databaseTools: () => {
        throw new Error('A page runs no command.');
      },
      interruptible: unused,
      start: unused,
    },
    '',
  );
  return commandPage(program, 'The `shortlink-server` command');
}

/** A page with a section for each command, the program itself first. */
export function commandPage(program: Command, title: string): string {
  const sections = commandsOf(program).map(({ path, command }) => section(path, command, program));
  return [`# ${title}`, `${shown(program.description())}`, ...sections].join('\n\n');
}

interface NamedCommand {
  path: string;
  command: Command;
}

/** The program and every command below it, in the order of the help. */
function commandsOf(command: Command, path = command.name()): NamedCommand[] {
  const below = command.commands.flatMap((sub) => commandsOf(sub, `${path} ${sub.name()}`));
  return [{ path, command }, ...below];
}

function section(path: string, command: Command, program: Command): string {
  const isProgram = command === program;
  // A group of commands such as `keys` can't be run by itself.
  const isNoun = !isProgram && command.commands.length > 0;
  const help = command.createHelp();
  const parts = [
    `## ${path}`,
    ...(isProgram ? [] : [sentence(command.description())]),
    ...(isNoun ? [] : [`\`\`\`txt\n${path} ${command.usage()}\n\`\`\``]),
    ...(isProgram || isNoun
      ? [
          command.commands
            .map(
              (sub) =>
                `- [${code(`${path} ${sub.name()}`)}](#${`${path} ${sub.name()}`.replaceAll(' ', '-')}): ${shown(sub.description())}`,
            )
            .join('\n'),
        ]
      : []),
    ...(isNoun ? [] : optionTables(command, help.visibleOptions(command))),
    ...afterHelp(command),
  ];
  return parts.join('\n\n');
}

/** A table of the options of each group, such as "Input:". */
function optionTables(command: Command, options: readonly Option[]): string[] {
  const help = command.createHelp();
  const groups = Map.groupBy(
    options.filter((option) => option.long !== '--help'),
    (option) => option.helpGroupHeading ?? '',
  );
  return [...groups].flatMap(([heading, members]) => [
    ...(heading === '' || groups.size === 1 ? [] : [`**${heading.replace(/:$/, '')}**`]),
    table(
      ['option', 'meaning'],
      members.map((option) => [
        code(help.optionTerm(option)),
        shown(help.optionDescription(option)),
      ]),
    ),
  ]);
}

/** What a command prints below its options, as `--help` prints it: examples, exit codes, settings. */
function afterHelp(command: Command): string[] {
  let printed = '';
  command.configureOutput({
    writeOut: (text) => {
      printed += text;
    },
  });
  command.outputHelp();
  const options = command.helpInformation();
  const text = stripVTControlCharacters(printed.slice(printed.indexOf(options) + options.length));
  return text.trim() === '' ? [] : [`\`\`\`txt\n${text.trim()}\n\`\`\``];
}

function sentence(text: string): string {
  return `${shown(text[0]?.toUpperCase() ?? '')}${shown(text.slice(1))}.`.replace('..', '.');
}
