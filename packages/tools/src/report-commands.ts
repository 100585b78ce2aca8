import { PassThrough, Readable } from 'node:stream';
import { EXIT_CODES } from '../../cli/src/cli-error.ts';
import { buildProgram as buildCli } from '../../cli/src/program.ts';
import { EXIT } from '../../server/src/admin/command.ts';
import { buildProgram as buildServer } from '../../server/src/admin/program.ts';

/** The parts of commander's command that are reported. An interface, since both packages have their own copy of commander. */
interface Declared {
  name(): string;
  usage(): string;
  readonly commands: readonly Declared[];
  readonly options: readonly {
    flags: string;
    defaultValue?: unknown;
    argChoices?: readonly string[];
    envVar?: string | undefined;
    hidden: boolean;
  }[];
}

/** Commands, arguments, flags with their defaults, variables and exit codes of both programs. Help texts may change freely. */
export function reportCommands(): { cli: string; server: string } {
  const nothing = () => {
    throw new Error('nothing is run here');
  };
  const cli = buildCli(
    {
      stdin: new PassThrough(),
      stdout: new PassThrough(),
      stderr: new PassThrough(),
      env: {},
      platform: 'linux',
      home: '/',
      onInterrupt: nothing,
    },
    false,
    nothing,
  );
  const server = buildServer(
    {
      env: {},
      stdin: Readable.from([]),
      write: nothing,
      err: nothing,
      interruptible: nothing,
      now: nothing,
      databaseTools: nothing,
      start: nothing,
    },
    '',
  );
  return {
    cli: `${describe(cli, '').join('\n')}\n${exitCodes(EXIT_CODES)}`,
    server: `${describe(server, '').join('\n')}\n${exitCodes(EXIT)}`,
  };
}

function describe(command: Declared, parent: string): string[] {
  const path = `${parent} ${command.name()}`.trim();
  const options = command.options
    .filter(({ hidden }) => !hidden)
    .map(({ flags, defaultValue, argChoices, envVar }) =>
      [
        `  ${flags}`,
        argChoices && `one of ${argChoices.join(', ')}`,
        // That a switch is off where it isn't given needs no saying.
        defaultValue !== undefined &&
          defaultValue !== false &&
          `default ${JSON.stringify(defaultValue)}`,
        envVar && `or ${envVar}`,
      ]
        .filter(Boolean)
        .join('; '),
    );
  return [
    `${path} ${command.usage()}`,
    ...options.toSorted(),
    '',
    ...command.commands.flatMap((child) => describe(child, path)),
  ];
}

function exitCodes(codes: Record<string, number>): string {
  const lines = Object.entries(codes).map(([name, code]) => `  ${code} ${name}`);
  return `exit codes\n${lines.join('\n')}\n`;
}
