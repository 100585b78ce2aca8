import type { MadeLink } from '../../../sdk/test/scripted-service/service.ts';
import { contentOf } from '../scenario/files.ts';
import type { RunPlan, UserTraits } from '../scenario/scenario.ts';
import type { Decisions } from '../scenario/settings.ts';
import type { Exchange } from '../world/network.ts';
import { Counts, type Pair, pairOfLink, pairOfRow, parse } from './ledger.ts';

/** How often a run sends a row at most. */
const ROUNDS = 3;

/**
 * Where the service can be asked which links exist, there is never one more than rows that ever asked for it at one time, whatever was
 * lost. Only `--restart`, and `--on-similar create` for rows whose title no link has, ask for others. With `--restart` the service is not asked,
 * nor where a response has hidden that it can be: without keys, `--on-unknown retry` then sends again what got no response. Where all of them
 * have, rows of which nothing on the disk tells are created again.
 */
export class LinkLimit {
  readonly #user: UserTraits;
  readonly #hasOrder: boolean;
  /** Whether a row was written over another one, and has its cells: then it may keep a link of another title, which is not for others. */
  #isMoved = false;
  readonly #allowed = new Counts();
  /** What rows may ask for if the service does not say in this run that it can be asked. */
  #unasked = new Counts();
  /** The same where no response says it. */
  #blind = new Counts();

  /**
   * @param hasOrder - whether the service lists results as the request has its links. If not, the import can't tell which of two links of a
   *   target has which title.
   */
  constructor(user: UserTraits, hasOrder: boolean) {
    this.#user = user;
    this.#hasOrder = hasOrder;
  }

  beginRun(
    { rows, restart }: RunPlan,
    { onSimilar, onUnknown }: Decisions,
    made: readonly MadeLink[],
  ): void {
    const user = this.#user;
    this.#isMoved ||= user.keepsResults && rows.some(({ was }) => was !== undefined);
    const isRepeated = onUnknown === 'retry' && !user.idempotency;
    const rounds = restart ? (isRepeated ? ROUNDS : 1) : 0;
    const [wanted, titled] = [new Counts(), new Counts()];
    for (const row of rows) {
      if (row.kind === 'invalid') continue;
      const pair = pairOfRow(row, user);
      wanted.add(pair);
      titled.add(titledPair(pair, contentOf(row, user)));
    }
    this.#allowed.raise(wanted);
    this.#unasked = new Counts();
    for (const [pair, count] of isRepeated ? wanted.entries() : []) {
      this.#unasked.add(pair, ROUNDS * count);
    }
    const [links, titledLinks] = [new Counts(), new Counts()];
    for (const link of made) {
      links.add(pairOfLink(link));
      titledLinks.add(titledPair(pairOfLink(link), link.content));
    }
    this.#blind = new Counts();
    for (const [pair, count] of wanted.entries()) this.#blind.add(pair, links.of(pair) + count);
    if (!restart && onSimilar !== 'create') return;
    const more = new Counts();
    for (const [pair, count] of wanted.entries()) {
      more.add(pair, links.of(pair) + rounds * count);
    }
    const isTold = this.#hasOrder && !this.#isMoved;
    for (const [text, count] of restart ? [] : titled.entries()) {
      const pair = text.slice(0, text.indexOf('\t'));
      more.add(pair, Math.max(0, count - (isTold ? titledLinks.of(text) : 0)));
    }
    this.#allowed.raise(more);
  }

  check(made: readonly MadeLink[], ofRun: readonly Exchange[]): void {
    if (ofRun.some(hidesFeatures)) this.#allowed.raise(this.#unasked);
    const ofUsage = ofRun.filter(({ path }) => path === '/api/v1/usage');
    if (ofUsage.some(hidesFeatures) && ofUsage.every(hidesFeatures))
      this.#allowed.raise(this.#blind);
    const links = new Counts();
    for (const link of made) links.add(pairOfLink(link));
    for (const [pair, count] of links.entries()) {
      const most = this.#allowed.of(pair);
      if (count > most) {
        throw new Error(
          `${pair}: the service has ${count} links, and ${most} rows ever asked for one`,
        );
      }
    }
  }
}

/** Whether a response of the usage names no features, or is none. */
function hidesFeatures({ path, received }: Exchange): boolean {
  if (path !== '/api/v1/usage' || received?.status !== 200) return false;
  return (parse(received.body) as { features?: unknown } | undefined)?.features === undefined;
}

function titledPair(pair: Pair, title: string): string {
  return `${pair}\t${title}`;
}
