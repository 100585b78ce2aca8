/** A part of one night. */
export interface PlayedPart {
  name: string;
  date: string;
  command: string;
  amount: number;
  unit: string;
  /** What shows that it failed. */
  failure?: string;
}

/** A part over all nights. */
interface Sum {
  unit: string;
  /** The first night, and the last one. */
  since: string;
  until: string;
  nights: number;
  failed: number;
  amount: number;
}

const HEAD = `# What was ever played

Written by the nightly workflow. Each night plays other seeds than all nights before it, and a night that fails opens an issue.
What is counted here was played to its end; a night that failed is in the column of its own.

| part | played | what | nights | failed | first | last |
|---|---|---|---|---|---|---|
`;

/** The page that counts what was ever played, with a night more. */
export function pageWith(page: string, parts: readonly PlayedPart[]): string {
  const sums = readPage(page);
  for (const { name, date, unit, amount, failure } of parts) {
    const before = sums.get(name) ?? {
      since: date,
      until: '',
      nights: 0,
      failed: 0,
      amount: 0,
      unit,
    };
    // A job that is run again is the same night.
    if (date <= before.until) continue;
    const isPassed = failure === undefined;
    sums.set(name, {
      ...before,
      unit,
      until: date,
      nights: before.nights + 1,
      failed: before.failed + (isPassed ? 0 : 1),
      amount: before.amount + (isPassed ? amount : 0),
    });
  }
  const rows = [...sums].map(([name, { amount, unit, nights, failed, since, until }]) => {
    return `| ${name} | ${amount.toLocaleString('en')} | ${unit} | ${nights} | ${failed} | ${since} | ${until} |\n`;
  });
  return HEAD + rows.join('');
}

function readPage(page: string): Map<string, Sum> {
  const rows = page.matchAll(
    /^\| (\S+) \| ([\d,]+) \| (.+) \| (\d+) \| (\d+) \| (\S+) \| (\S+) \|$/gm,
  );
  return new Map(
    [...rows].map(
      ([, name = '', amount = '', unit = '', nights, failed, since = '', until = '']) => [
        name,
        {
          unit,
          since,
          until,
          nights: Number(nights),
          failed: Number(failed),
          amount: Number(amount.replaceAll(',', '')),
        },
      ],
    ),
  );
}

/** The commands, after `pnpm`, that play the failing seeds of an output again. The simulations print them below each failure. */
export function againOf(output: string): string[][] {
  const lines = [...output.matchAll(/^ {2}pnpm (\S.* --seed \d+.*)$/gm)].map(
    ([, line = '']) => line,
  );
  return [...new Set(lines)].map((line) => line.split(' '));
}

/** The issue that a failed part opens. The title is the same each night, so that one issue stands for a fault that stays. */
export function issueOf({ name, date, command, failure = '' }: PlayedPart) {
  // A fence that the text can't end.
  const fence = '`'.repeat(
    Math.max(3, ...[...failure.matchAll(/`+/g)].map(([run]) => run.length + 1)),
  );
  return {
    title: `Nightly: ${name} fails`,
    body: `\`${command}\` failed on ${date}.\n\n${fence}text\n${failure.trim()}\n${fence}\n`,
  };
}
