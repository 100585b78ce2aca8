import type { ImportSettings } from '../../cli/src/import/types.ts';
import type { Io } from '../../cli/src/io.ts';
import type { Ended } from './program.ts';
import type { CommandTraits } from './scenario/scenario.ts';
import type { World } from './world/world.ts';

/** The real command line, as it is loaded. */
export type RunCommand = (argv: readonly string[], io: Io) => Promise<number>;

/** Where the summary of a run is written. */
const SUMMARY = '/tmp/summary.json';

const HOME = '/home';
const CONFIG = `${HOME}/.config/shortlink/config.json`;

const flag = (name: string, isSet: boolean | undefined) => (isSet ? [name] : []);

const globalsOf = ({ isJson, isQuiet, isVerbose }: CommandTraits) => [
  ...flag('--json', isJson),
  ...flag('--quiet', isQuiet),
  ...flag('--verbose', isVerbose),
];

/** The words after `shortlink` that give an import these settings. Defaults are left out where the command has the same. */
export function argvOf(settings: ImportSettings, maxWaitMs: number, how: CommandTraits): string[] {
  const option = (name: string, value: unknown) => (value === undefined ? [] : [name, `${value}`]);
  const { file, inPlace, outputFormat, output, known = [], defaults, addTags = [] } = settings;
  const isNamed = !inPlace && settings.usualNames?.output === false;
  return [
    ...globalsOf(how),
    ...option('--base-url', how.hasConfig ? undefined : settings.baseUrl),
    ...['import', file],
    ...option('--output', isNamed ? output : undefined),
    ...option('--output-format', isNamed ? outputFormat : undefined),
    ...flag('--in-place', inPlace),
    ...known.flatMap((path) => ['--known', path]),
    ...option('--summary', how.hasSummary ? SUMMARY : undefined),
    ...(defaults.tags ?? []).flatMap((tag) => ['--tag', tag]),
    ...addTags.flatMap((tag) => ['--add-tag', tag]),
    ...option('--domain', defaults.domain_id),
    ...option('--redirect-type', defaults.redirect_type),
    ...option('--batch-size', settings.batchSize),
    ...option('--concurrency', settings.concurrency),
    ...option('--rpm', settings.requestsPerMinute),
    ...option('--limit', settings.limit),
    ...option('--max-wait', `${maxWaitMs / 1_000}s`),
    ...option('--max-rejects', settings.maxRejects),
    ...option('--on-unknown', settings.onUnknown),
    ...option('--on-similar', settings.onSimilar),
    settings.idempotency ? '--idempotency' : '--no-idempotency',
    ...flag('--dry-run', settings.dryRun),
    ...flag('--restart', settings.restart),
  ];
}

/** The settings that the command line gives where it says no more than {@link argvOf}. */
function expectedOf(settings: ImportSettings, { hasSummary }: CommandTraits): object {
  const { known = [], inPlace } = settings;
  const hasUsualOutput = !inPlace && settings.usualNames?.output === true;
  return {
    ...settings,
    known: known.length === 0 ? undefined : known,
    usualNames: { ...settings.usualNames, output: hasUsualOutput },
    restart: settings.restart || undefined,
    listsRows: hasSummary,
  };
}

/** @throws Error where the command line was read as something else than was meant */
export function checkParsed(
  parsed: ImportSettings,
  meant: ImportSettings,
  how: CommandTraits,
): void {
  const [is, should] = [parsed, { ...parsed, ...expectedOf(meant, how) }].map((settings) =>
    JSON.stringify(settings),
  );
  if (is !== should) throw new Error(`the command line is read as ${is}, and it means ${should}`);
}

interface Service {
  baseUrl: string;
  apiKey: string;
}

/** Stores the key, unless a program before has stored it together with the address. */
function placeKey({ disk, scheduler }: World, { baseUrl, apiKey }: Service, mode: number): void {
  const stored = disk.get(CONFIG)?.bytes.toString() ?? '';
  if ([baseUrl, apiKey].every((text) => stored.includes(JSON.stringify(text)))) return;
  const config = { profiles: { default: { api_key: apiKey } } };
  disk.place(CONFIG, JSON.stringify(config), scheduler.now, mode);
}

/** The command that stores the address, which the import finds in the config file. It may run beside another one, or be killed. */
export const storeAddress = (
  runCommand: RunCommand,
  baseUrl: string,
  how: CommandTraits,
  io: Io,
): Promise<number> => {
  const stdout = { write: (_: string, done?: () => void) => done?.() };
  const argv = [...globalsOf(how), 'config', 'set', 'base_url', baseUrl];
  return runCommand(argv, { ...io, stdout: stdout as unknown as Io['stdout'] });
};

/** What a program has around it. */
export function ioOf(
  world: World,
  service: Service,
  how: CommandTraits,
  ended: Ended,
): { io: Io; interrupt: () => void } {
  const listeners = new Set<Parameters<Io['onInterrupt']>[0]>();
  const stream = (name: 'stdout' | 'stderr') => ({
    write: (text: string, done?: () => void) => {
      ended[name] += text;
      done?.();
      return true;
    },
  });
  if (how.hasConfig) placeKey(world, service, how.isOpen ? 0o644 : 0o600);
  const io = {
    stdin: {},
    stdout: stream('stdout'),
    stderr: stream('stderr'),
    env: {
      ...(how.hasConfig ? {} : { SHORTLINK_API_KEY: service.apiKey }),
      ...(how.isColoured && { FORCE_COLOR: '1' }),
    },
    platform: 'linux',
    home: HOME,
    onInterrupt: (listener: () => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  const interrupt = () => {
    for (const listener of [...listeners]) listener('signal');
    // Nothing listens before the import and after it: there the signal ends the process.
    if (listeners.size === 0) world.kill(ended.process, false);
  };
  return { io: io as unknown as Io, interrupt };
}

/** Whether all that is said in the end is that the file for the summary can't be written. */
export function hasLostSummary({ stderr }: Ended): boolean {
  return stderr.includes(`${SUMMARY} can't be written`);
}

/**
 * What a command has printed agrees with what became of its import, and tells no secret.
 *
 * @param isAlone - whether no other command has written to the file for the summary since
 */
export function checkPrinted(
  ended: Ended,
  how: CommandTraits,
  world: World,
  isAlone: boolean,
): void {
  const { stdout, stderr, summary, exitCode, error, process } = ended;
  if (!process.isAlive || hasLostSummary(ended)) return;
  const printed = stdout + stderr;
  if (printed.includes('sk_simulated')) throw new Error(`the key is printed: ${printed}`);
  if (/This is a bug|undefined|NaN|\[object/.test(printed))
    throw new Error(`what is printed makes no sense: ${printed}`);
  const isGood = [0, 3, 8].includes(exitCode ?? 0);
  if (summary === undefined && (isGood || exitCode === undefined))
    throw new Error(`exit code ${exitCode} without a summary after ${error}: ${printed}`);
  if (exitCode !== 0 && stderr === '' && !isGood && exitCode !== 7)
    throw new Error(`exit code ${exitCode} and no word why`);
  if (how.isJson) {
    for (const line of stderr.split('\n').slice(0, -1)) JSON.parse(line);
    if (stdout !== '') checkSummary(JSON.parse(stdout), ended);
  }
  const file = how.hasSummary && isAlone ? world.disk.get(SUMMARY) : undefined;
  if (summary !== undefined && file !== undefined && !process.hasFailed)
    checkSummary(JSON.parse(file.bytes.toString()), ended);
}

const COUNTS = ['rows', 'created', 'existing', 'rejected', 'failed', 'unknown', 'unsent'] as const;

function checkSummary(said: Record<string, unknown>, { summary, exitCode }: Ended): void {
  const isRight = COUNTS.every((name) => said[name] === (summary?.[name] ?? 0));
  if (!isRight || said['exit_code'] !== exitCode)
    throw new Error(
      `exit code ${exitCode} and ${JSON.stringify(summary)} are printed as ${JSON.stringify(said)}`,
    );
}
