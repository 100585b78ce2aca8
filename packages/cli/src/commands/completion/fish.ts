import type { CommandModel, OptionModel, ValueModel } from './model.ts';

/** One `complete` per command, option and argument; two functions find out which command is being typed. */
export function fishScript(commands: readonly CommandModel[]): string {
  return `# fish completion of shortlink, made by: shortlink completion fish
function __shortlink_place
    set -l path shortlink
    set -l args 0
    set -l skip 0
    for word in (commandline -opc)[2..-1]
        if test $skip = 1
            set skip 0
            continue
        end
        switch "$path $word"
            case ${paths(commands)}
                set path "$path $word"
            case ${optionsWithValue(commands)}
                set skip 1
            case '* -*'
            case '*'
                set args (math $args + 1)
        end
    end
    echo $path
    echo $args
end
function __shortlink_at
    set -l place (__shortlink_place)
    test "$place[1]" = "$argv[1]"; and test (count $argv) = 1 -o "$place[2]" = "$argv[2]"
end
complete -c shortlink -f
${commands.flatMap(completions).join('\n')}
`;
}

function paths(commands: readonly CommandModel[]): string {
  return commands
    .flatMap(({ path, subcommands }) => subcommands.map(({ name }) => quote(`${path} ${name}`)))
    .join(' ');
}

function optionsWithValue(commands: readonly CommandModel[]): string {
  const names = commands.flatMap(({ options }) =>
    options.flatMap((option) => (option.value === undefined ? [] : option.names)),
  );
  return [...new Set(names)].map((name) => quote(`* ${name}`)).join(' ');
}

function completions({ path, subcommands, options, arguments: args }: CommandModel): string[] {
  return [
    ...subcommands.map(
      ({ name, description }) => `${completeAt(path, 0)} -a ${name} -d ${quote(description)}`,
    ),
    ...args.flatMap(({ value, variadic }, index) => {
      const words = offer(value);
      return words === '' ? [] : [`${completeAt(path, variadic ? undefined : index)}${words}`];
    }),
    ...options.map((option) => `${completeAt(path, undefined)}${optionWords(option)}`),
  ];
}

function completeAt(path: string, args: number | undefined): string {
  const place = args === undefined ? `"${path}"` : `"${path}" ${args}`;
  return `complete -c shortlink -n '__shortlink_at ${place}'`;
}

function optionWords({ names, description, value }: OptionModel): string {
  const words = names
    .map((name) => (name.startsWith('--') ? ` -l ${name.slice(2)}` : ` -s ${name.slice(1)}`))
    .join('');
  const takes = value === undefined ? '' : ` -r${offer(value)}`;
  return `${words}${takes} -d ${quote(description)}`;
}

function offer(value: ValueModel): string {
  switch (value.kind) {
    case 'choices':
      return ` -a ${quote(value.values.join(' '))}`;
    case 'file':
      return ' -F';
    case 'free':
      return '';
  }
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
