import { LOOKUP_PATH } from '../../../sdk/test/scripted-service/look-up.ts';
import { REFUSED_TITLE } from '../../../sdk/test/scripted-service/scripted-service.ts';
import type { Exchange } from '../world/network.ts';
import {
  type Asked,
  Counts,
  isCreate,
  linksOf,
  mayHaveWorked,
  type Pair,
  pairOf,
  parse,
  toldJob,
} from './ledger.ts';

/** Services forget an idempotency key after so long. */
const KEY_LIFETIME_MS = 24 * 60 * 60 * 1000;

/** All requests with one key ask for the same links, for as long as the service knows the key. */
interface Sending {
  firstAt: number;
  links: Counts;
}

/** A job that was accepted. */
interface AcceptedJob {
  asked: readonly Asked[];
  /** Whether its links count since files said of all of them that they may exist. */
  isOfFiles: boolean;
  /** Positions of the entries that a poll has shown as refused. */
  refused: Set<number>;
}

/** What a run has sent. */
export interface SentRun {
  /** Its requests, in the order they were sent. */
  exchanges: readonly Exchange[];
  /** Links that rows have asked for at one time. */
  wanted: Counts;
  /** Links of these requests whose codes the program was told. */
  told: Counts;
  /** Whether what got no response may be sent again in the same run. */
  mayRetry: boolean;
}

/**
 * No row is sent twice where the first request may have worked, also where it has not. Rows are counted by the link that they ask for.
 * `--on-unknown retry` frees those of which nobody was told what became of them, at that time, and no others; what is sent then counts
 * again.
 */
export class SentOnce {
  /** Links that exist or may exist, by what was sent, and by what files said in the beginning. */
  #active = new Counts();
  /** Links that a decision has freed: the service may have more of them than there are rows. */
  #freed = new Set<Pair>();
  /** Links that were freed in this run. */
  #freedNow = new Set<Pair>();
  /** Codes of links that a user has decided against: those of earlier requests, which rows may ask for once more. */
  #declined: ReadonlySet<string> = new Set();
  /** Links whose requests nobody can tell the age of. */
  #ageless = new Set<Pair>();
  #isOff = false;
  readonly #sendings = new Map<string, Sending>();
  readonly #jobs = new Map<string, AcceptedJob>();
  /** Keys of requests that count since before they were sent. */
  readonly #recorded = new Set<string>();
  /** Links of rows that the service refuses, most of the time: their requests don't count, and may have made some. */
  readonly #refused = new Set<Pair>();

  /**
   * @param taken - links that files name, or of which they say that they may exist
   * @param keys - of requests that are in the journal, and so in `taken`
   * @param declined - codes of links that count no more
   * @param keepsDecisions - whether what a user has decided to send again is in doubt no more, whatever older files say
   */
  beginAgain(
    taken: Counts,
    keys: Iterable<string>,
    declined: Iterable<string>,
    keepsDecisions: boolean,
  ): void {
    this.#declined = new Set(declined);
    const before = this.#active;
    this.#active = new Counts();
    for (const [pair, count] of taken.entries()) {
      this.#active.set(pair, keepsDecisions ? Math.min(count, before.of(pair)) : count);
    }
    this.#freed = new Set();
    this.#ageless = new Set();
    this.#isOff = false;
    for (const key of keys) this.#recorded.add(key);
    for (const job of this.#jobs.values()) job.isOfFiles = true;
  }

  /** Files name these links. */
  raise(named: Counts): void {
    this.#active.raise(named);
  }

  beginRun(): void {
    this.#freedNow = new Set();
  }

  /** Nothing is known any more of what was sent before. */
  switchOff(): void {
    this.#isOff = true;
  }

  /** The user has decided to send again what is not known to exist. */
  retry(known: Counts): void {
    for (const [pair, count] of [...this.#active.entries()]) {
      if (count > known.of(pair)) this.#free(pair);
      this.#active.set(pair, Math.min(count, known.of(pair)));
    }
    for (const pair of this.#refused) this.#free(pair);
  }

  /** The clock was set back while these requests were open: whether their keys are still known can't be told. */
  forgetAge(open: readonly Exchange[]): void {
    for (const { pair } of open.flatMap(linksOf)) {
      this.#ageless.add(pair);
      this.#free(pair);
    }
  }

  /** Whether there may be more links than rows, of which the program was not told. */
  isFree(pair: Pair): boolean {
    return this.#isOff || this.#freed.has(pair);
  }

  /** Whether any link was freed. */
  get isAnyFree(): boolean {
    return this.#isOff || this.#freed.size > 0;
  }

  /** Whether the rows that ask for this link were counted exactly in this run. */
  isExact(pair: Pair): boolean {
    return !this.#isOff && !this.#freedNow.has(pair) && !this.#ageless.has(pair);
  }

  /** @throws Error when a row was sent twice */
  endRun({ exchanges, wanted, told, mayRetry }: SentRun): void {
    const sent = this.#sentBy(exchanges);
    for (const [pair, all] of sent.entries()) {
      const open = mayRetry ? Math.max(0, all - told.of(pair)) : 0;
      const count = all - open;
      const room = Math.max(0, wanted.of(pair) - this.#active.of(pair));
      const isCounted = !this.#isOff && !this.#ageless.has(pair);
      if (isCounted && count > room) {
        throw new Error(
          `${pair}: sent ${count} times for ${wanted.of(pair)} rows, of which ${this.#active.of(pair)} have a link or may have one`,
        );
      }
      // It may be sent again by this run, or be left to the next one.
      if (open > 0) this.#free(pair);
      this.#active.add(pair, count);
    }
    if (mayRetry) for (const pair of this.#refused) this.#free(pair);
  }

  /** What was sent and has made no link may be sent again. */
  #lower(pair: Pair, links: number, sent: Counts): void {
    const gone = Math.max(0, this.#active.of(pair) + sent.of(pair) - links);
    const ofRun = Math.min(gone, sent.of(pair));
    sent.add(pair, -ofRun);
    this.#active.add(pair, ofRun - gone);
  }

  /** An entry that a poll shows as refused is no link, also where files said that it may be one. */
  #takeRefusals({ path, received }: Exchange): void {
    const job = this.#jobs.get(path.slice(path.lastIndexOf('/') + 1));
    if (!job?.isOfFiles || received?.status !== 200) return;
    const results = (parse(received.body)?.results ?? []) as { error?: string }[];
    for (const [index, { error }] of results.entries()) {
      const { pair, title } = job.asked[index] ?? {};
      if (!error || pair === undefined || title !== REFUSED_TITLE || job.refused.has(index))
        continue;
      job.refused.add(index);
      this.#active.set(pair, Math.max(0, this.#active.of(pair) - 1));
    }
  }

  /** Whether a request was in the journal when files were lost. Without entries that were refused, its key has an ending of its own. */
  #takeRecorded(key: string): boolean {
    const recorded = [...this.#recorded].find((one) => key === one || key.startsWith(`${one}-`));
    return recorded !== undefined && this.#recorded.delete(recorded);
  }

  #free(pair: Pair): void {
    this.#freed.add(pair);
    this.#freedNow.add(pair);
  }

  /** How often each link was asked for by requests that may have worked: once with one key. */
  #sentBy(exchanges: readonly Exchange[]): Counts {
    const sent = new Counts();
    const found = new Counts();
    // Links that a look-up finds before anything is sent, and that no row is known to have: those of other rows.
    const others = new Counts();
    for (const exchange of exchanges) {
      if (!isCreate(exchange)) {
        this.#takeRefusals(exchange);
        // Nothing that was sent before has made a link, so that the import need not ask for each of them.
        if (saysNoLinks(exchange)) {
          for (const [pair] of [...this.#active.entries()]) this.#lower(pair, 0, sent);
        }
        for (const { pair, links, isFirst, isLast } of lookedUp(exchange, this.#declined)) {
          found.set(pair, links + (isFirst ? 0 : found.of(pair)));
          if (!isLast) continue;
          if (sent.of(pair) === 0) {
            others.set(pair, Math.max(0, found.of(pair) - this.#active.of(pair)));
          }
          this.#lower(pair, found.of(pair) - others.of(pair), sent);
        }
        continue;
      }
      const job = toldJob(exchange);
      if (job !== undefined) {
        this.#jobs.set(job, { asked: linksOf(exchange), isOfFiles: false, refused: new Set() });
      }
      const { key = `#${exchange.number}`, sentAt } = exchange;
      const earlier = this.#sendings.get(key);
      if (earlier !== undefined && sentAt - earlier.firstAt < KEY_LIFETIME_MS) {
        if (!isRefused(exchange)) continue;
        // The service has made nothing with this key, or it would have said so.
        this.#sendings.delete(key);
        for (const [pair, count] of earlier.links.entries()) {
          const ofRun = Math.min(count, sent.of(pair));
          sent.add(pair, -ofRun);
          this.#active.set(pair, Math.max(0, this.#active.of(pair) - (count - ofRun)));
        }
        // Files said also of its entries that are refused that they may exist.
        const stated = this.#takeRecorded(key) ? linksOf(exchange) : [];
        for (const { pair, title } of stated) {
          if (title === REFUSED_TITLE) {
            this.#active.set(pair, Math.max(0, this.#active.of(pair) - 1));
          }
        }
      } else if (mayHaveWorked(exchange)) {
        const links = new Counts();
        for (const { pair, title } of linksOf(exchange)) {
          if (title === REFUSED_TITLE) this.#refused.add(pair);
          else links.add(pair);
        }
        const isRecorded = this.#takeRecorded(key);
        for (const [pair, count] of links.entries()) if (!isRecorded) sent.add(pair, count);
        this.#sendings.set(key, { firstAt: sentAt, links });
      } else if (isRefused(exchange) && this.#takeRecorded(key)) {
        // Files said of its links that they may exist.
        for (const { pair } of linksOf(exchange)) {
          this.#active.set(pair, Math.max(0, this.#active.of(pair) - 1));
        }
      }
    }
    return sent;
  }
}

/** What a program was told by a look-up: how many links there are of each target, maybe over several responses. */
function lookedUp({ path, body, received }: Exchange, declined: ReadonlySet<string>) {
  if (path !== LOOKUP_PATH || received?.status !== 200) return [];
  const { links: asked = [] } = JSON.parse(body ?? '{}') as { links?: LookedUp[] };
  const results = (parse(received.body)?.results ?? []) as LookUpResult[];
  return asked.flatMap(({ target_url, domain_id, after }, index) => {
    const result = results[index];
    if (result === undefined) return [];
    const pair = pairOf(target_url, domain_id);
    const { links: all, more } = result;
    const links = all.filter(({ code }) => !declined.has(code)).length;
    return [{ pair, links, isFirst: after === undefined, isLast: !more }];
  });
}

/** Whether a service that can be asked for links says that the account has none. */
function saysNoLinks({ path, received }: Exchange): boolean {
  if (path !== '/api/v1/usage' || received?.status !== 200) return false;
  const usage = parse(received.body) as Partial<Usage> | undefined;
  return usage?.links?.used === 0 && usage.features?.includes('lookup') === true;
}

type Usage = { links: { used: number }; features: string[] };

interface LookUpResult {
  links: { code: string }[];
  more: boolean;
}

interface LookedUp {
  target_url: string;
  domain_id?: string;
  after?: string;
}

function isRefused({ received }: Exchange): boolean {
  const { status = 0, body = '' } = received ?? {};
  return [400, 413, 422].includes(status) || (status === 403 && body.includes('upgrade'));
}
