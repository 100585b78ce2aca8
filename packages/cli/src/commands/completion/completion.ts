import { Argument, type Command } from 'commander';
import { EXIT_CODES } from '../../cli-error.ts';
import { declareCommand, type Perform } from '../declare.ts';
import { SCRIPTS, type Shell } from './scripts.ts';

export function declareCompletion(program: Command, perform: Perform): void {
  declareCommand(program, perform, {
    name: 'completion',
    description: 'Print a script that lets a shell complete commands, options and their values.',
    tries: [
      "echo 'source <(shortlink completion bash)' >> ~/.bashrc",
      `shortlink completion zsh > "\${fpath[1]}/_shortlink"`,
      'shortlink completion fish > ~/.config/fish/completions/shortlink.fish',
    ],
    act: async ({ io }, shell: Shell) => {
      io.stdout.write(SCRIPTS[shell]);
      return EXIT_CODES.ok;
    },
  }).addArgument(new Argument('<shell>', 'the shell it is for').choices(Object.keys(SCRIPTS)));
}
