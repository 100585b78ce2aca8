import type { CommandModel, OptionModel, ValueModel } from './model.ts';

/** One function per command, in the words of zsh's `_arguments`. */
export function zshScript(commands: readonly CommandModel[]): string {
  return `#compdef shortlink
# zsh completion of shortlink, made by: shortlink completion zsh
${commands.map(zshFunction).join('\n')}
if [[ $funcstack[1] == _shortlink ]]; then
  _shortlink "$@"
else
  compdef _shortlink shortlink
fi
`;
}

function zshFunction(command: CommandModel): string {
  const specs = [...command.options.map(optionSpec), ...argumentSpecs(command)];
  return `${functionName(command.path)}() {
  local curcontext="$curcontext" state line
  typeset -A opt_args
  _arguments -C -s -S \\
    ${specs.join(' \\\n    ')}
${command.subcommands.length > 0 ? dispatch(command) : ''}}
`;
}

function functionName(path: string): string {
  return `_${path.replaceAll(' ', '_')}`;
}

function dispatch({ path, subcommands }: CommandModel): string {
  const described = subcommands
    .map(({ name, description }) => quote(`${name}:${description}`))
    .join(' ');
  const cases = subcommands
    .map(({ name }) => `        ${name}) ${functionName(`${path} ${name}`)} ;;`)
    .join('\n');
  return `  case $state in
    command)
      local -a commands=(${described})
      _describe -t commands command commands ;;
    rest)
      case $line[1] in
${cases}
      esac ;;
  esac
`;
}

function argumentSpecs({ subcommands, arguments: args }: CommandModel): string[] {
  if (subcommands.length > 0) return ["'1: :->command'", "'*:: :->rest'"];
  return args.map(({ name, value, variadic }, index) =>
    quote(`${variadic ? '*' : index + 1}:${name}:${action(value)}`),
  );
}

/** Every option may be repeated: those that may not say so themselves. */
function optionSpec({ names, description, value }: OptionModel): string {
  const text = `[${description.replaceAll(/[[\]\\]/g, '\\$&')}]`;
  const tail = value === undefined ? '' : `:value:${action(value)}`;
  return names
    .map((name) => {
      const takes = value !== undefined && name.startsWith('--') ? '=' : '';
      return quote(`*${name}${takes}${text}${tail}`);
    })
    .join(' ');
}

function action(value: ValueModel): string {
  switch (value.kind) {
    case 'choices':
      return `(${value.values.join(' ')})`;
    case 'file':
      return '_files';
    case 'free':
      return ' ';
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
