/** Words that a shell takes as they are. */
const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/**
 * A command line that can be pasted into a shell to run the same command again. An API key in it is replaced by the
 * environment variable; `--restart` is left out, since going on is the point.
 */
export function commandLine(argv: readonly string[]): string {
  const words: string[] = ['shortlink'];
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index] ?? '';
    if (word === '--api-key') {
      words.push(word, '"$SHORTLINK_API_KEY"');
      index++;
    } else if (word.startsWith('--api-key=')) {
      words.push('--api-key="$SHORTLINK_API_KEY"');
    } else if (word !== '--restart') {
      words.push(quote(word));
    }
  }
  return words.join(' ');
}

function quote(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
