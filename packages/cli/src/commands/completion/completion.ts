import { Argument, type Command } from 'commander';
import { EXIT_CODES, type ExitCode } from '../../cli-error.ts';
import type { Context } from '../../context.ts';
import { declareCommand, type Perform } from '../declare.ts';

const SHELLS = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof SHELLS)[number];

export function declareCompletion(program: Command, perform: Perform): void {
  declareCommand(
    program,
    'completion',
    'Print a script that lets a shell complete commands, options and their values.',
    [
      "echo 'source <(shortlink completion bash)' >> ~/.bashrc",
      `shortlink completion zsh > "\${fpath[1]}/_shortlink"`,
      'shortlink completion fish > ~/.config/fish/completions/shortlink.fish',
    ],
  )
    .addArgument(new Argument('<shell>', 'the shell it is for').choices(SHELLS))
    .action((shell: Shell, _options: object, command: Command) =>
      perform(command, (context) => printScript(shell, program, context)),
    );
}

async function printScript(shell: Shell, program: Command, context: Context): Promise<ExitCode> {
  const { describeCommands } = await import('./model.ts');
  const commands = describeCommands(program);
  context.io.stdout.write(await scriptFor(shell, commands));
  return EXIT_CODES.ok;
}

async function scriptFor(
  shell: Shell,
  commands: readonly import('./model.ts').CommandModel[],
): Promise<string> {
  switch (shell) {
    case 'bash':
      return (await import('./bash.ts')).bashScript(commands);
    case 'zsh':
      return (await import('./zsh.ts')).zshScript(commands);
    case 'fish':
      return (await import('./fish.ts')).fishScript(commands);
  }
}
