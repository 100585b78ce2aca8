import type { CreateLinkBody, RequestOptions, Shortlink, Usage } from '@shortlink/sdk';
import type { Plan, TableSettings } from '@shortlink/tables/basics';
import type { TextWritable } from './report/output-file.ts';

export const OUTPUT_FORMATS = ['csv', 'jsonl', 'xlsx'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export const ON_UNKNOWN = ['stop', 'retry', 'skip'] as const;
export type OnUnknown = (typeof ON_UNKNOWN)[number];

export const ON_SIMILAR = ['stop', 'reuse', 'create'] as const;
export type OnSimilar = (typeof ON_SIMILAR)[number];

/** Address in a dry run without an account, which compares with the links of no service. */
export const NO_SERVICE = 'http://localhost/';

/** The settings of the import of one file, with every default filled in. */
export interface ImportSettings extends TableSettings {
  /** Path of the input, or `-` for standard input. */
  file: string;
  /** The other inputs of the command, as long as none is imported: a link of an equal row may become that of a row. */
  others?: readonly string[] | undefined;
  /** Between tags inside a cell; undefined is any of `,` `;` `|`. */
  tagSeparator?: string | undefined;
  /** Path, or `-` for standard output. */
  output: string;
  outputFormat: OutputFormat;
  /** The results go into the input file itself, which `output` names then. */
  inPlace: boolean;
  /** `--known`: earlier results files, whose links exist already. */
  known?: readonly string[] | undefined;
  rejects: string;
  /** Which of these files have their default names, because no option names them. They are not written through symbolic links. */
  usualNames?: { output: boolean; rejects: boolean } | undefined;
  /** Path; for standard input, which has no name, the folder in which a file named by the content is kept. */
  journal: string | { folder: string };
  /** Set the journal aside, and create every row again. */
  restart: boolean;
  /** `--tag`, `--domain`, `--redirect-type`: for rows that have none of their own. */
  defaults: Pick<CreateLinkBody, 'tags' | 'domain_id' | 'redirect_type'>;
  /** `--add-tag`: for every row, besides its own tags or the default ones. */
  addTags?: readonly string[] | undefined;
  batchSize: number | 'auto';
  concurrency: number;
  /** `--rpm`, for the forecast. */
  requestsPerMinute?: number | undefined;
  /** `--limit`: the most links to create in this run. */
  limit?: number | undefined;
  dryRun: boolean;
  /** Whether the summary names rows, which a run that writes no results has to read once more for it. @default false */
  listsRows?: boolean | undefined;
  maxRejects: number | 'all';
  /** `--on-unknown`: for rows that may have become links, where the service can't be asked. */
  onUnknown: OnUnknown;
  /** `--on-similar`: for rows of which a link exists that could be theirs, and could be another one. @default 'stop' */
  onSimilar?: OnSimilar | undefined;
  /** @default where the service lists it among its features */
  idempotency?: boolean | undefined;
  /** Address of the service. */
  baseUrl: string;
}

/** A row that can't be sent, and why. */
export interface Reject {
  line: number;
  reason: string;
}

/** What the service said of one link. */
export type LinkResult =
  | { status: 'created'; code: string; short_url: string }
  | { status: 'failed' | 'unknown'; error: string };

/** The same, with what the link was created with. See `madeFor`. */
export type MadeResult = LinkResult & { made_for: string };

/** Why it is not known what became of a request that was begun. */
export const NO_RESPONSE = 'sent, and the import ended before the response came';

/** Outcomes of a row, as the results file names them. */
export const ROW_STATUSES = ['created', 'rejected', 'failed', 'unknown', 'unsent'] as const;
export type RowStatus = (typeof ROW_STATUSES)[number];

/** How the rows compare with the links that exist. Every count is of rows, but `gone`, which is of links. */
export interface Existing {
  /** Rows whose link does not exist yet. */
  new: number;
  /** Rows whose link an earlier run created. */
  existing: number;
  /** Of these, rows whose title, tags or redirect type was edited since (or the target URL, where the row has a short URL). */
  changed: number;
  /** Lines of the first of these. */
  changedLines: number[];
  /** Links of earlier runs that no row asks for any more; they are left alone. */
  gone: number;
  /** Short URLs of the first of these. */
  goneLinks: string[];
}

/** What sending will take, as far as the service reports it. */
export interface Forecast {
  /** Links that this run will try to create. */
  links: number;
  /** New rows that this run will not send, because of the plan or of `--limit`. */
  unsent: number;
  /** Whether it is the plan that has no room for all of them. */
  isShort: boolean;
  batchSize: number;
  /** Requests, polls of jobs included. */
  requests: number;
  /** Links that the plan has room for; undefined where it has no limit, or the service does not report it. */
  room: number | undefined;
  /** About how long the quotas make it take, in milliseconds; undefined where the service does not report it. */
  durationMs: number | undefined;
  /** The longest single wait for a quota in it. */
  waitMs?: number | undefined;
  /** The plan's name, and the requests a minute that it or `--rpm` allows; undefined where the service does not say, or for no limit. */
  plan: string | undefined;
  requestsPerMinute: number | undefined;
}

/** What happens while an import runs, for the progress display. */
export type ImportEvent =
  | { type: 'validating'; rows: number; bytesRead: number; bytesTotal: number | undefined }
  | { type: 'validated'; plan: Plan; rows: number; rejected: number; firstRejects: Reject[] }
  | ({ type: 'compared'; rows: number } & Existing)
  | { type: 'forecast'; forecast: Forecast }
  | { type: 'sending'; existing: number; links: number }
  | { type: 'resuming'; batches: number; rows: number }
  | { type: 'batch-sent'; first: number; count: number; batch: number }
  | { type: 'batch-accepted'; first: number; count: number; jobId: string }
  | { type: 'batch-resized'; from: number; reason: string }
  | { type: 'job-progress'; jobId: string; processed: number; total: number }
  | { type: 'rows-done'; done: number }
  | { type: 'reporting' }
  | { type: 'warning'; message: string };

/** Why an import ended before all rows were sent. */
export type StopReason =
  | 'rejects'
  | 'authentication'
  | 'plan_limit'
  | 'rate_limit'
  | 'unknown'
  | 'interrupted'
  | 'error';

/** Where a row stands: the line on which it begins, and its number among the rows, both from 1. */
interface RowPlace {
  line: number;
  row: number;
}

/** A row with the link that it asks for; the short URL is null as long as there is none. */
type ListedRow = RowPlace & { target_url: string; short_url: string | null };

/** Rows that a summary names: of each list the first {@link MOST_LISTED}. */
export interface RowLists {
  /** Rows that have no link, or of which it isn't known. */
  problems: (RowPlace & { status: 'rejected' | 'failed' | 'unknown'; reason: string })[];
  /** Rows whose title, tags or redirect type were edited since their link was created. */
  changed: ListedRow[];
  /** Rows whose link this run has created, or would create. */
  new: ListedRow[];
}

/** Rows in each list of a summary. Its counts are of all rows. */
export const MOST_LISTED = 1_000;

/** How an import ended. Every count is of rows, unless it says otherwise. */
export interface ImportSummary extends Pick<Existing, 'existing' | 'changed' | 'gone'> {
  file: string;
  dryRun: boolean;
  rows: number;
  /** Rows whose link this run created. */
  created: number;
  /** Rows that were created, failed, are unsent, or became unknown in this run. */
  new: number;
  rejected: number;
  failed: number;
  unknown: number;
  /** New rows that are left for another run. */
  unsent: number;
  /** The forecast, where there was one. */
  forecast: Forecast | undefined;
  /** Batches that got a response, and requests made in this run (polls and retries included). */
  batches: number;
  requests: number;
  elapsedMs: number;
  /** Undefined when every row was sent. */
  stopped?:
    | {
        reason: StopReason;
        message: string;
        hint?: string | undefined;
        error?: unknown;
        /** The same command would stop again: the user has to decide about the unknown rows. */
        mustDecide?: boolean | undefined;
        /** A `--max-wait` that is long enough, in milliseconds. */
        waitMs?: number | undefined;
      }
    | undefined;
  /** Files written; undefined where none was. */
  output: string | undefined;
  rejectsFile: string | undefined;
  journal: string | undefined;
  /** Undefined where `listsRows` is not set, or the rows were not read to their end. */
  lists?: RowLists | undefined;
}

/** What an import needs from its surroundings. */
export interface ImportDeps {
  client: {
    links: Pick<Shortlink['links'], 'createMany' | 'lookup'>;
    usage: { retrieve: (options?: RequestOptions) => PromiseLike<Usage> };
  };
  /** Read when the input is `-`. */
  stdin: AsyncIterable<Uint8Array | string>;
  /** Written when the output is `-`. */
  stdout: TextWritable;
  onEvent: (event: ImportEvent) => void;
  /** Asks the user what becomes of rows that could have a link that exists, or not. Undefined where nobody can be asked. */
  decide?: ((message: string) => Promise<OnSimilar>) | undefined;
  /** Ends the import at once: requests in flight are aborted, and become `unknown`. */
  signal: AbortSignal;
  /** Ends it softly: no new batch is sent, those in flight are finished. */
  stopSignal: AbortSignal;
  /** Requests made so far, retries and polls included. */
  requestCount: () => number;
  /** A clock for durations, in milliseconds. */
  now: () => number;
  /** How long the machine has run, in milliseconds: no correction of its clock changes that. */
  uptime: () => number;
  /** The time, as `Date.now()` counts. */
  wallClock: () => number;
}
