import type { ImportSettings } from '../../../cli/src/import/types.ts';
import type { UserTraits } from '../scenario/scenario.ts';
import type { Exchange } from '../world/network.ts';
import { Counts, isCreate, linksOf } from './ledger.ts';

const MINUTE_MS = 60_000;

/** No request is sent that could not have helped: checks those of one program, in the order they were sent. */
export function checkRequests(
  exchanges: readonly Exchange[],
  user: UserTraits,
  settings: ImportSettings,
): void {
  checkPace(exchanges, user.requestsPerMinute);
  for (const exchange of exchanges) {
    if (exchange.received === undefined) continue;
    checkRefusedKey(exchange, exchanges);
    checkRetryAfter(exchange, exchanges, user.maxWaitMs);
    checkQuota(exchange, exchanges, user.maxWaitMs);
    checkUsage(exchange, exchanges);
  }
  const size = settings.batchSize;
  for (const exchange of exchanges) {
    if (size !== 'auto' && isCreate(exchange) && linksOf(exchange).length > size) {
      throw new Error(`#${exchange.number} has more links than --batch-size ${size}`);
    }
  }
}

/** `--rpm N`: never more than N in any minute. */
function checkPace(exchanges: readonly Exchange[], perMinute: number | undefined): void {
  if (perMinute === undefined) return;
  for (let index = perMinute; index < exchanges.length; index += 1) {
    const [first, last] = [exchanges[index - perMinute], exchanges[index]];
    if (first === undefined || last === undefined) continue;
    if (last.sentAt - first.sentAt < MINUTE_MS - 1) {
      throw new Error(
        `#${last.number} is sent within a minute of ${perMinute} others, with --rpm ${perMinute}`,
      );
    }
  }
}

/** A key that was refused is refused again. */
function checkRefusedKey(
  { number, received, receivedTurn, key }: Exchange,
  all: readonly Exchange[],
): void {
  // With a key, a lost request is sent once more to learn what became of it, whatever came between.
  if (key !== undefined) return;
  const isRefused =
    received?.status === 401 || (received?.status === 403 && !received.body.includes('upgrade'));
  if (!isRefused) return;
  const late = all.find((other) => isCreate(other) && other.sentTurn > receivedTurn);
  if (late !== undefined)
    throw new Error(`#${late.number} is sent after the key was refused (#${number})`);
}

function checkRetryAfter(exchange: Exchange, all: readonly Exchange[], maxWaitMs: number): void {
  const { received, receivedAt, number } = exchange;
  const text = received?.headers['retry-after'] ?? '';
  if (received?.status !== 429 || !/^\d+$/.test(text)) return;
  const waitMs = Number(text) * 1000;
  if (waitMs > maxWaitMs) return;
  const early = sentBetween(all, exchange, receivedAt + waitMs - 1);
  if (early !== undefined)
    throw new Error(`#${early.number} is sent before the ${text} s of #${number} are over`);
}

/** A quota that is stated to be used up is not tried. */
function checkQuota(exchange: Exchange, all: readonly Exchange[], maxWaitMs: number): void {
  const { received, receivedAt, sentAt, number } = exchange;
  // A response that was long on its way may speak of a window that is over.
  if (receivedAt - sentAt > 900) return;
  // Of two requests under way at once, nobody can tell which the service has counted first.
  const isAlone = all.every((other) => {
    return (
      other === exchange ||
      other.sentAt > receivedAt ||
      (other.received !== undefined && other.receivedAt < sentAt)
    );
  });
  if (!isAlone) return;
  for (const [, name, left, seconds] of (received?.headers['ratelimit'] ?? '').matchAll(
    /"(\w+)";r=(-?\d+);t=(\d+)/g,
  )) {
    const waitMs = Number(seconds) * 1000;
    if (Number(left) > 0 || waitMs > maxWaitMs) continue;
    // Reading the usage counts against no quota.
    const counted = all.filter(({ path }) => !path.endsWith('/usage'));
    const early = sentBetween(counted, exchange, sentAt + waitMs - 1_000);
    if (early !== undefined) {
      throw new Error(
        `#${early.number} is sent although #${number} says that the ${name} is used up`,
      );
    }
  }
}

function sentBetween(
  all: readonly Exchange[],
  from: Exchange,
  until: number,
): Exchange | undefined {
  return all.find(({ sentTurn, sentAt }) => sentTurn > from.receivedTurn && sentAt < until);
}

/** What the service says of the plan's batch size holds for all batches. */
function checkUsage({ path, received, receivedTurn }: Exchange, all: readonly Exchange[]): void {
  if (!path.endsWith('/usage') || received?.status !== 200) return;
  const size = /"batch_size":(\d+)/.exec(received.body)?.[1];
  if (size === undefined) return;
  const large = all.find(
    (other) =>
      isCreate(other) && other.sentTurn > receivedTurn && linksOf(other).length > Number(size),
  );
  if (large !== undefined)
    throw new Error(`#${large.number} has more links than the plan's batch size ${size}`);
}

/** Only rows are sent, each as it is in the file, or was when its request was first sent. */
export function checkAsked(exchanges: readonly Exchange[], rows: Counts): void {
  for (const exchange of exchanges) {
    if (!isCreate(exchange)) continue;
    const sent = new Counts();
    for (const { pair, content } of linksOf(exchange)) sent.add(`${pair}\n${content}`);
    for (const [link, count] of sent.entries()) {
      if (count > rows.of(link))
        throw new Error(`#${exchange.number} asks ${count} times for ${JSON.stringify(link)}`);
    }
  }
}

/** Two programs at once: the second is kept out, so that their requests are never mixed. */
export function checkApart(exchanges: readonly Exchange[]): void {
  const owners = exchanges.filter(isCreate).map(({ process }) => process);
  const changes = owners.filter((owner, index) => index > 0 && owner !== owners[index - 1]);
  if (changes.length > 1) throw new Error('two programs send under one journal at once');
}
