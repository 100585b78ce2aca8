/** The series of one metric, in the Prometheus text format. */
interface Family {
  head: string[];
  type: string;
  series: Map<string, number>;
}

/** Of these gauges, the lowest value says most of several processes, and of these the highest. Any other gauge is a number of things, and is added up. */
const LOWEST = /^(?:shortlink_database_up|process_start_time_seconds)$/;
const HIGHEST = /^(?:shortlink_jobs_pending|nodejs_version_info|process_max_fds|.*_lag_.*)$/;

/** Metrics of several processes, as those of one. */
export function addUp(texts: readonly string[]): string {
  const all = new Map<string, Family>();
  for (const text of texts) {
    for (const [name, { head, type, series }] of familiesOf(text)) {
      const family = all.get(name) ?? { head, type, series: new Map() };
      all.set(name, family);
      const join =
        type === 'gauge' && LOWEST.test(name)
          ? Math.min
          : type === 'gauge' && HIGHEST.test(name)
            ? Math.max
            : sum;
      for (const [labels, value] of series) {
        const known = family.series.get(labels);
        family.series.set(labels, known === undefined ? value : join(known, value));
      }
    }
  }
  return printed(all);
}

/** The counters of a process that has ended: what it measured then is no more. */
export function countersOf(text: string): string {
  const families = [...familiesOf(text)].filter(([, { type }]) => type !== 'gauge');
  return printed(new Map(families));
}

const sum = (a: number, b: number) => a + b;

function familiesOf(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  let family: Family = { head: [], type: '', series: new Map() };
  for (const line of text.split('\n')) {
    const [, word, name = ''] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? [];
    if (word !== undefined) {
      family = families.get(name) ?? { head: [], type: '', series: new Map() };
      families.set(name, family);
      family.head.push(line);
      if (word === 'TYPE') family.type = line.slice(line.lastIndexOf(' ') + 1);
    } else if (line !== '') {
      const end = line.lastIndexOf(' ');
      family.series.set(line.slice(0, end), Number(line.slice(end + 1)));
    }
  }
  return families;
}

function printed(families: ReadonlyMap<string, Family>): string {
  return [...families.values()]
    .flatMap(({ head, series }) => [
      ...head,
      ...[...series].map(([name, value]) => `${name} ${value}`),
    ])
    .map((line) => `${line}\n`)
    .join('');
}
