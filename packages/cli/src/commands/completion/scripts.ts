/**
 * What each shell runs for Tab. It only asks `shortlink __complete`, so that it need not change with the program, and knows one thing
 * itself: how to offer files, which is the response `:file`.
 */
export const SCRIPTS = {
  // Also for bash 3.2, which macOS has: no `mapfile`, and no `compopt`.
  bash: `# bash completion of shortlink, made by: shortlink completion bash
_shortlink() {
  local offer
  COMPREPLY=()
  while IFS= read -r offer; do
    COMPREPLY+=("$offer")
  done < <(shortlink __complete bash "$COMP_CWORD" "\${COMP_WORDS[@]}" 2>/dev/null)
  compopt +o default 2>/dev/null
  if [[ \${COMPREPLY[0]} == :file ]]; then
    # Readline's own completion of files quotes their names.
    COMPREPLY=()
    compopt -o default 2>/dev/null
  elif [[ \${#COMPREPLY[@]} == 1 && \${COMPREPLY[0]} == *= ]]; then
    compopt -o nospace 2>/dev/null
  fi
}
# bash 3.2 can't turn "default" off, so that it offers files wherever there is nothing else.
complete -o default -F _shortlink shortlink
`,
  zsh: `#compdef shortlink
# zsh completion of shortlink, made by: shortlink completion zsh
_shortlink() {
  local -a offers space
  offers=("\${(@f)$(shortlink __complete zsh "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ $offers[1] == :file ]]; then
    compset -P '--[^=]#='
    _files
  elif [[ -n $offers[1] ]]; then
    [[ $offers[1] == *=(|:*) ]] && space=(-S '')
    _describe shortlink offers $space
  fi
}
if [[ $funcstack[1] == _shortlink ]]; then
  _shortlink "$@"
else
  compdef _shortlink shortlink
fi
`,
  fish: `# fish completion of shortlink, made by: shortlink completion fish
function __shortlink_offers
    set -l word (commandline -ct)
    set -l offers (shortlink __complete fish (commandline -opc)[2..-1] "$word" 2>/dev/null)
    if test "$offers[1]" = :file
        set -l option (string match -r -- '^--[^=]*=' "$word")
        for path in (__fish_complete_path (string replace -- "$option" '' "$word"))
            echo "$option$path"
        end
    else
        printf '%s\\n' $offers
    end
end
complete -c shortlink -f -a '(__shortlink_offers)'
`,
};

export type Shell = keyof typeof SCRIPTS;
