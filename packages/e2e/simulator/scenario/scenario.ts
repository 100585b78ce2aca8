import type { ImportSettings } from '../../../cli/src/import/types.ts';
import type { ServiceTraits } from '../../../sdk/test/scripted-service/traits.ts';
import type { DiskFault, Kill } from '../world/world.ts';

/** Everything that decides what happens, as plain data: the same scenario always plays the same way, and parts can be left out. */
export interface Scenario {
  seed: number;
  service: ServiceTraits & { kind: 'scripted' | 'own' };
  user: UserTraits;
  runs: RunPlan[];
}

/** What the user asks for, in each run. */
export interface UserTraits {
  format: 'csv' | 'jsonl' | 'urls';
  fromStdin: boolean;
  inPlace: boolean;
  batchSize: number | 'auto';
  concurrency: number;
  requestsPerMinute: number | undefined;
  maxWaitMs: number;
  maxRejects: 0 | 'all';
  idempotency: boolean;
  onUnknown: 'stop' | 'retry' | 'skip';
  /** What a user who is stopped by unknown rows decides in the end. */
  decides: 'retry' | 'skip';
  domain: string | undefined;
  /** The file has a column with the domain of each row. */
  hasDomains: boolean;
  /** Names the last results with `--known`, once the journal was thrown away. */
  namesResults: boolean;
  /** Whoever edits the title of a row leaves the results beside it, in a file that is filled in place. */
  keepsResults: boolean;
  /** The results of JSON Lines are a table, as they usually are. */
  hasTable: boolean;
  /** Copies the results over the input before each further run, which writes them beside it again. */
  importsResults: boolean;
  /** Files are lost or damaged between runs. */
  losesFiles: boolean;
  /** The file with the results is mounted by itself, as into a container, and can't be replaced: what the system says to that. */
  mounted: 'EBUSY' | 'EXDEV' | undefined;
  /** Reads give less than was asked for. */
  readsShort: boolean;
  /** The file has columns with tags and redirect types. */
  hasTags: boolean;
  /** Tags of rows without any, and of all rows, and the redirect type of rows without one. */
  defaults: Pick<ImportSettings['defaults'], 'tags' | 'redirect_type'>;
  addTags: readonly string[] | undefined;
  /** Types a command line, which the command itself reads; undefined where the import is started as its command does it. */
  command: CommandTraits | undefined;
  /** What a user decides in the end who is stopped by links that may or may not be those of the rows. */
  onSimilar: 'reuse' | 'create';
}

/** How the user calls the command: its options that an import itself knows nothing of. */
export interface CommandTraits {
  isJson: boolean;
  isQuiet: boolean;
  isVerbose: boolean;
  isColoured: boolean;
  /** Writes the summary into a file too. */
  hasSummary: boolean;
  /** Address and key are in the config file. */
  hasConfig: boolean;
  /** The config file can be read by everybody. */
  isOpen: boolean;
}

/** A row of the input. Rows with one `url` ask for the same link. */
export interface RowPlan {
  url: number;
  title: number;
  /** `invalid` rows can't be sent, `refused` ones are refused by the service. */
  kind: 'good' | 'invalid' | 'refused';
  /** Its own domain; undefined for the default one. */
  domain?: string;
  /** The `url` that was here before its owner wrote another one over it, and left the cells beside it. */
  was?: number | undefined;
  /** Its target and its title hold what tables and texts have to keep apart from their own signs. */
  isOdd?: boolean;
  /** Which of the cells with tags, and with a redirect type, it has; none where its file has no such columns. */
  tags?: number;
  redirect?: number;
  /** What its line of JSON Lines has beside that, or has otherwise. */
  keys?: RowKeys | undefined;
}

/** A short link or a status of another service can't stand where the import writes its own into the file. */
export const OWN_KEYS = ['a note', 'other names', 'reversed'] as const;
export const FOREIGN_KEYS = ['a short link', 'a status'] as const;
export type RowKeys = (typeof OWN_KEYS)[number] | (typeof FOREIGN_KEYS)[number];

export const ENCODINGS = ['utf-16le', 'utf-16be', 'gzip'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** How a table is written, which another spreadsheet may do otherwise. */
export interface Dialect {
  delimiter: ',' | ';' | '\t';
  lineEnd: '\n' | '\r\n';
  /** Begins with a byte order mark. */
  hasMark: boolean;
  urlName: 'url' | 'Long URL';
  /** Its columns are in another order. */
  isReversed: boolean;
  /** Has a column more. */
  hasNotes: boolean;
}

/**
 * What happens to files before a run. The `machine` is another one then, with a fresh folder that holds the input only; the `folder` is
 * all that the import has, under its usual names.
 */
export interface Loss {
  of: 'input' | 'journal' | 'results' | 'rejects' | 'folder' | 'machine';
  how: 'delete' | 'cut' | 'empty' | 'rename' | 'copy' | 'restore';
  /** Thousandths of the file that are left where it is cut. */
  kept: number;
  /** The run, from 0, after which the copy was made that is restored: the input of a fresh machine as well. */
  since: number;
}

export interface RunPlan {
  /** Time since the run before it. */
  pauseMs: number;
  /** The file as it is then. */
  rows: RowPlan[];
  /** How a table is written then; undefined for the usual way. */
  dialect: Dialect | undefined;
  /** What the file is written in then; undefined for UTF-8. */
  encoding: Encoding | undefined;
  faults: NetworkFault[];
  killAt: Kill | undefined;
  /** The power fails when the run has ended. */
  losesPowerAfter: boolean;
  diskFault: DiskFault | undefined;
  /** Ctrl-C so long after the start, and maybe a second one. */
  stop: { softMs: number; hardMs: number | undefined } | undefined;
  /** The service is restarted so long after the start. */
  restartsMs: number[];
  clockJump: { atMs: number; byMs: number } | undefined;
  key: 'same' | 'rotated' | 'revoked' | 'forbidden';
  /** The service takes, during this run, what it refuses else. */
  isLenient: boolean;
  /** The journal was thrown away before this run, as by a CI job that keeps the files of its repository alone. */
  losesJournal: boolean;
  /** What happens to the files before this run, in this order. */
  losses: Loss[];
  /** Rows that are new in a file that is filled in place were copied from others, with their results. */
  copiesRows: boolean;
  /** The user's answer, in this run, to links that may or may not be those of the rows. */
  onSimilar: 'reuse' | 'create' | undefined;
  /** Other limits from now on. */
  links: number | undefined;
  /** Another program that uses the plan up so far. */
  othersLinks: number;
  /** The same command is started once more so long after the first one. */
  secondMs: number | undefined;
  /** Somebody writes to the input so long after the start. */
  editMs: number | undefined;
  /** The user's answer to unknown rows in this run. */
  onUnknown: 'stop' | 'retry' | 'skip' | undefined;
  dryRun: boolean;
  restart: boolean;
  limit: number | undefined;
}

/** What happens to one request, by its number in the run, or to all from one on for a while. */
export interface NetworkFault {
  request: number;
  /** More requests after it that it happens to. */
  lasts: number;
  kind: FaultKind;
  /** Chooses among the forms of the kind. */
  form: number;
}

export const FAULT_KINDS = [
  'refused',
  'lost before',
  'lost after',
  'silent before',
  'silent after',
  'cut',
  'slow',
  '429',
  '503 later',
  '5xx before',
  '5xx after',
  'page',
  'odd',
  'twice',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];
