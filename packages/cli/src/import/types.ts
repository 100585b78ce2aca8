import type { CreateLinkBody, RequestOptions, Shortlink, Usage } from '@shortlink/sdk';
import type { Plan, TableSettings } from '@shortlink/tables/basics';
import type { StopReason } from '../cli-error.ts';
import type { TextWritable } from './report/output-file.ts';

export const OUTPUT_FORMATS = ['csv', 'jsonl', 'xlsx'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

export const ON_UNKNOWN = ['stop', 'retry', 'skip'] as const;
export type OnUnknown = (typeof ON_UNKNOWN)[number];

export const ON_SIMILAR = ['stop', 'reuse', 'create'] as const;
export type OnSimilar = (typeof ON_SIMILAR)[number];

/** Address in a dry run without an account, which compares with the links of no service. */
export const NO_SERVICE = 'http://localhost/';

/** The settings of the import of one file. */
export interface ImportSettings extends TableSettings {
  /** Path of the input, or `-` for standard input. */
  file: string;
  /** The other inputs of the command, as long as none is imported: links of equal rows may become those of this one's. */
  others?: readonly string[] | undefined;
  /** Journals and results of the inputs that the command has imported before this one. */
  earlier?: readonly string[] | undefined;
  /** Undefined is any of `,` `;` `|`. */
  tagSeparator?: string | undefined;
  output: string;
  outputFormat: OutputFormat;
  /** The results go into the input itself, which `output` names then. */
  inPlace: boolean;
  known?: readonly string[] | undefined;
  rejects: string;
  /** Whether these files have their default names. They are not written through symbolic links then. */
  usualNames?: { output: boolean; rejects: boolean } | undefined;
  /** The path of the journal; for standard input, the folder of a file that is named by the content. */
  journal: string | { folder: string };
  restart?: boolean | undefined;
  /** `--tag`, `--domain`, `--redirect-type`: for rows that have none of their own. */
  defaults: Pick<CreateLinkBody, 'tags' | 'domain_id' | 'redirect_type'>;
  /** `--add-tag`: for every row, besides its own tags or the default ones. */
  addTags?: readonly string[] | undefined;
  batchSize: number | 'auto';
  concurrency: number;
  /** `--rpm`, for the forecast. */
  requestsPerMinute?: number | undefined;
  limit?: number | undefined;
  dryRun: boolean;
  /** Whether the summary names rows: a run without results reads them once more for it. @default false */
  listsRows?: boolean | undefined;
  maxRejects: number | 'all';
  /** What happens to rows that may have become links, where the service can't be asked. */
  onUnknown: OnUnknown;
  /** What happens to rows of which a link exists that could be theirs, or another one. @default 'stop' */
  onSimilar?: OnSimilar | undefined;
  /** @default where the service lists it among its features */
  idempotency?: boolean | undefined;
  baseUrl: string;
}

export interface Reject {
  line: number;
  reason: string;
}

export type LinkResult =
  | { status: 'created'; code: string; short_url: string }
  | { status: 'failed' | 'unknown'; error: string };

/** The same, with what the link was created with. See `madeFor`. */
export type MadeResult = LinkResult & { made_for: string };

/** Why it is not known what became of a request that was begun. */
export const NO_RESPONSE = 'sent, and the import ended before the response came';

/** The states of rows, as the results file names them. */
export const ROW_STATUSES = ['created', 'rejected', 'failed', 'unknown', 'unsent'] as const;
export type RowStatus = (typeof ROW_STATUSES)[number];

/** How the rows compare with the links that exist. Every count but `gone` is of rows. */
export interface Existing {
  new: number;
  existing: number;
  /** Existing rows whose title, tags or redirect type was edited since (or the target URL, where the row has a short URL). */
  changed: number;
  /** The lines of the first of these rows. */
  changedLines: number[];
  /** Links of earlier runs that no row asks for any more. */
  gone: number;
  /** The short URLs of the first of these links. */
  goneLinks: string[];
}

/** What sending will take, as far as the service reports it. */
export interface Forecast {
  links: number;
  /** New rows that this run will not send, because of the plan or of `--limit`. */
  unsent: number;
  /** Whether the plan has no room for all of them. */
  isShort: boolean;
  batchSize: number;
  /** Requests, polls of jobs included. */
  requests: number;
  /** Links that the plan has room for; undefined for no limit, or where the service does not report it. The same holds below. */
  room: number | undefined;
  /** About how long the quotas make it take. */
  durationMs: number | undefined;
  /** The longest single wait for a quota in it. */
  waitMs?: number | undefined;
  /** The name of the plan, and the requests that it or `--rpm` allows. */
  plan: string | undefined;
  requestsPerMinute: number | undefined;
}

export type ImportEvent =
  | { type: 'validating'; rows: number; bytesRead: number; bytesTotal: number | undefined }
  | { type: 'validated'; plan: Plan; rows: number; rejected: number; firstRejects: Reject[] }
  | ({ type: 'compared' } & Existing)
  | { type: 'forecast'; forecast: Forecast }
  | { type: 'sending'; existing: number; links: number }
  | { type: 'resuming'; batches: number; rows: number }
  | { type: 'batch-sent'; first: number; count: number }
  | { type: 'batch-accepted'; first: number; count: number; jobId: string }
  | { type: 'batch-resized'; from: number; reason: string }
  | { type: 'job-progress'; jobId: string; processed: number; total: number }
  | { type: 'rows-done'; done: number }
  | { type: 'reporting' }
  | { type: 'warning'; message: string };

/** Why an import ended before every row had its link. */
export interface Stopped {
  reason: StopReason;
  message: string;
  hint?: string | undefined;
  error?: unknown;
  /** The user has to decide about the unknown rows first. */
  mustDecide?: boolean | undefined;
  /** A `--max-wait` that is long enough. */
  waitMs?: number | undefined;
}

/** The line on which a row begins, and its number among the rows, both from 1. */
interface RowPlace {
  line: number;
  row: number;
}

/** The short URL is null as long as there is none. */
type ListedRow = RowPlace & { target_url: string; short_url: string | null };

/** Rows that a summary names: the first ones of each kind. */
export interface RowLists {
  problems: (RowPlace & { status: 'rejected' | 'failed' | 'unknown'; reason: string })[];
  changed: ListedRow[];
  /** Rows with links that this run has created, or would create. */
  new: ListedRow[];
}

/** How an import ended. Every count is of rows, unless it says otherwise. */
export interface ImportSummary extends Pick<Existing, 'existing' | 'changed' | 'gone'> {
  file: string;
  dryRun: boolean;
  rows: number;
  created: number;
  /** Rows that were created, failed, are unsent, or became unknown in this run. */
  new: number;
  rejected: number;
  failed: number;
  unknown: number;
  /** New rows that are left for another run. */
  unsent: number;
  forecast: Forecast | undefined;
  /** Batches that got a response, and requests with their polls and retries. */
  batches: number;
  requests: number;
  elapsedMs: number;
  stopped?: Stopped | undefined;
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
    usage: { retrieve: (options?: RequestOptions) => Promise<Usage> };
    jobs: { retrieve: (id: string, options?: RequestOptions) => Promise<unknown> };
  };
  stdin: AsyncIterable<Uint8Array | string>;
  stdout: TextWritable;
  onEvent: (event: ImportEvent) => void;
  /** Asks the user about rows that could have a link that exists. Undefined where nobody can be asked. */
  decide?: ((message: string) => Promise<OnSimilar>) | undefined;
  /** Ends the import at once: requests in flight become `unknown`. */
  signal: AbortSignal;
  /** Ends it softly: those in flight are finished. */
  stopSignal: AbortSignal;
  /** The number of requests so far, with retries and polls. */
  requestCount: () => number;
  /** A clock for durations. */
  now: () => number;
  /** How long the machine has run: no correction of its clock changes that. */
  uptime: () => number;
  /** The time as `Date.now()` gives it. */
  wallClock: () => number;
}
