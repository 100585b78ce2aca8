const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/;

/**
 * A command line that can be pasted into a shell to run the same command again. An API key becomes its environment variable; `--restart`, which
 * would create every link again, is left out. `waitMs` is the least `--max-wait`.
 */
export function commandLine(argv: readonly string[], waitMs?: number): string {
  const words: string[] = ['shortlink'];
  for (let index = 0; index < argv.length; index++) {
    const [, flag = '', joint = ''] = /^(--[a-z-]+)(?:$|(=))/.exec(argv[index] ?? '') ?? [];
    const isWait = flag === '--max-wait' && waitMs !== undefined;
    if (flag === '--api-key') words.push(`${flag}${joint || ' '}"$SHORTLINK_API_KEY"`);
    else if (flag !== '--restart' && !isWait) words.push(quote(argv[index] ?? ''));
    // Its value is the next word.
    if ((flag === '--api-key' || isWait) && joint === '') index++;
  }
  if (waitMs !== undefined) words.push('--max-wait', durationFlag(waitMs));
  return words.join(' ');
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A duration as an option, a little longer: the wait is counted from the next request. */
export function durationFlag(ms: number): string {
  if (ms < HOUR_MS) return `${Math.ceil(ms / MINUTE_MS) + 1}m`;
  return `${Math.ceil(ms / HOUR_MS) + 1}h`;
}

function quote(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
