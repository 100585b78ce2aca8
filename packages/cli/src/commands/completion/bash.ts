import type { CommandModel, ValueModel } from './model.ts';

/** Also for bash 3.2, which macOS has: no associative arrays, no `mapfile`. */
export function bashScript(commands: readonly CommandModel[]): string {
  return `# bash completion of shortlink, made by: shortlink completion bash
_shortlink() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  local path=shortlink args=0 index words='' IFS=$' \\t\\n'
  COMPREPLY=()
  # bash splits --option=value into three words.
  if [[ $cur == = ]]; then
    cur=''
  elif [[ $prev == = ]]; then
    prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((index = 1; index < COMP_CWORD; index++)); do
    case "$path \${COMP_WORDS[index]}" in
${subcommandCases(commands)}
      ${optionsWithValue(commands)})
        ((index++))
        [[ \${COMP_WORDS[index]} == = ]] && ((index++)) ;;
      *' -'*) ;;
      *) ((args++)) ;;
    esac
  done
  case "$path $prev" in
${valueCases(commands)}
  esac
  if [[ $cur == -* ]]; then
    case "$path" in
${optionCases(commands)}
    esac
  else
    case "$path $args" in
${wordCases(commands)}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
_shortlink_files() {
  # Readline's own completion quotes names; the other way is for bash 3.2.
  compopt -o default 2>/dev/null && return
  local IFS=$'\\n'
  COMPREPLY=($(compgen -f -- "$1"))
}
complete -F _shortlink shortlink
`;
}

function subcommandCases(commands: readonly CommandModel[]): string {
  return commands
    .flatMap(({ path, subcommands }) => subcommands.map(({ name }) => `${path} ${name}`))
    .map((path) => `      '${path}') path='${path}' ;;`)
    .join('\n');
}

function optionsWithValue(commands: readonly CommandModel[]): string {
  const names = commands.flatMap(({ options }) =>
    options.flatMap((option) => (option.value === undefined ? [] : option.names)),
  );
  return [...new Set(names)].map((name) => `*' ${name}'`).join('|');
}

function valueCases(commands: readonly CommandModel[]): string {
  return commands
    .flatMap(({ path, options }) =>
      options.flatMap(({ names, value }) =>
        value === undefined
          ? []
          : [`    ${names.map((name) => `'${path} ${name}'`).join('|')}) ${offer(value)} ;;`],
      ),
    )
    .join('\n');
}

function offer(value: ValueModel): string {
  switch (value.kind) {
    case 'choices':
      return `COMPREPLY=($(compgen -W '${value.values.join(' ')}' -- "$cur")); return`;
    case 'file':
      return '_shortlink_files "$cur"; return';
    case 'free':
      return 'return';
  }
}

function optionCases(commands: readonly CommandModel[]): string {
  return commands
    .map(({ path, options }) => {
      const names = options.flatMap((option) => option.names);
      return `      '${path}') words='${names.join(' ')}' ;;`;
    })
    .join('\n');
}

/** Subcommands, or what the argument at this place may be. */
function wordCases(commands: readonly CommandModel[]): string {
  return commands
    .flatMap(({ path, subcommands, arguments: args }) => {
      const names = subcommands.map(({ name }) => name);
      return [
        ...(names.length > 0 ? [`      '${path} 0') words='${names.join(' ')}' ;;`] : []),
        ...args.map(({ value, variadic }, index) => {
          const place = variadic ? `'${path} '*` : `'${path} ${index}'`;
          return `      ${place}) ${offer(value)} ;;`;
        }),
      ];
    })
    .join('\n');
}
