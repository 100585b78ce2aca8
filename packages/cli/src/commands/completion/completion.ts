import { Argument, type Command } from 'commander';
import { EXIT_CODES } from '../../cli-error.ts';
import { declareCommand, type Perform } from '../declare.ts';

/** What each shell runs for Tab. `shortlink __complete` fails where the shell should offer files. */
const SCRIPTS = {
  // For bash 3.2 of macOS too: no `mapfile`, and no `compopt`, so that it offers files wherever there is nothing else.
  bash: `# bash completion of shortlink, made by: shortlink completion bash
_shortlink() {
  local offers
  offers=$(shortlink __complete bash "\${COMP_LINE:0:COMP_POINT}" 2>/dev/null) || return 0
  compopt +o default 2>/dev/null
  [[ $offers == *= ]] && compopt -o nospace 2>/dev/null
  IFS=$'\\n' read -r -d '' -a COMPREPLY <<< "$offers"
}
complete -o default -F _shortlink shortlink
`,
  zsh: `#compdef shortlink
# zsh completion of shortlink, made by: shortlink completion zsh
_shortlink() {
  local found
  local -a offers space
  if found=$(shortlink __complete zsh "\${(@Q)words[2,CURRENT]}" 2>/dev/null); then
    offers=("\${(@f)found}")
    [[ $offers[1] == *=(|:*) ]] && space=(-S '')
    [[ -n $found ]] && _describe shortlink offers $space
  else
    compset -P '--[^=]#='
    _files
  fi
}
if [[ $funcstack[1] == _shortlink ]]; then _shortlink "$@"; else compdef _shortlink shortlink; fi
`,
  fish: `# fish completion of shortlink, made by: shortlink completion fish
set -g __shortlink_ask 'set -g __shortlink_offers (shortlink __complete fish (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'
complete -c shortlink -n $__shortlink_ask -f -a '$__shortlink_offers'
`,
};

export function declareCompletion(program: Command, perform: Perform): void {
  declareCommand(program, perform, {
    name: 'completion',
    description: 'Print a script that lets a shell complete commands, options and their values.',
    tries: [
      "echo 'source <(shortlink completion bash)' >> ~/.bashrc",
      `shortlink completion zsh > "\${fpath[1]}/_shortlink"`,
      'shortlink completion fish > ~/.config/fish/completions/shortlink.fish',
    ],
    act: async ({ io }, shell: keyof typeof SCRIPTS) => {
      io.stdout.write(SCRIPTS[shell]);
      return EXIT_CODES.ok;
    },
  }).addArgument(new Argument('<shell>', 'the shell it is for').choices(Object.keys(SCRIPTS)));
}
