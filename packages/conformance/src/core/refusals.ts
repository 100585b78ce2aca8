import type { Session } from '../session.ts';
import { demand, type Exchange, fieldsOf, NotShown, show } from '../statement.ts';
import { isPlanLimit, isSuccess, sendTooMany, targets, UNKNOWN_JOB } from './facts.ts';

export const errorOf = (exchange: Exchange) => fieldsOf(exchange)['error'];

/** The message of an error, without what stands between thousands. */
export const messageOf = (exchange: Exchange) =>
  String(errorOf(exchange)).replaceAll(/(\d)[,.'’\s](?=\d{3})/g, '$1');

/** Demands that the message of an error states a limit, or any number where nobody knows the limit. */
export function demandStated(exchange: Exchange, allowed: number | undefined): void {
  const message = messageOf(exchange);
  const states = allowed === undefined ? /\d/ : new RegExp(`\\b${allowed}\\b`);
  const reason = `the message doesn't state ${allowed ?? 'a number'}: ${show(message)}`;
  demand(states.test(message), reason, exchange);
}

export const isApi = ({ request }: Exchange) => request.path.startsWith('/api/v1/');

/** A batch of one link more than the plan allows in one, which creates nothing. */
export const largeBatch = (session: Session) =>
  session.once('large batch', async () => {
    const size = session.limits?.batch ?? session.usageNumber('batch_size');
    if (size === undefined || size >= 10_000) {
      throw new NotShown('needs a plan with a batch size: --plan');
    }
    return sendTooMany(session, targets(session, 'large', size + 1));
  });

export const ownPlanLimits = ({ exchanges }: Session) =>
  exchanges.filter((exchange) => isPlanLimit(exchange) && !isOfAnotherKey(exchange));

export const isOfAnotherKey = ({ request }: Exchange) =>
  request.headers['X-Api-Key'] === '<ANOTHER_KEY>';

/** A request that a limit of the plan refuses. */
export async function planLimit(session: Session): Promise<Exchange> {
  const [seen] = ownPlanLimits(session);
  const limit = seen ?? (await largeBatch(session));
  if (isSuccess(limit)) throw new NotShown('no limit of the plan was reached', [limit]);
  return limit;
}

/** Requests per minute of the plan, or those that the service states. */
export const minuteOf = (session: Session) =>
  session.limits?.minute ?? session.usageNumber('requests', 'minute', 'limit');

export const saysMinute = (refusal: Exchange) => /minute/i.test(String(errorOf(refusal)));

/** A 429 of the day or the month asks for a longer wait, and doesn't speak of a minute. */
export const isOfMinute = (refusal: Exchange) =>
  saysMinute(refusal) || !(Number(refusal.response.headers['retry-after']) > 60);

/** The requests that ask for a 429, where the run has none yet. */
export const pollsUntilRefused = async (session: Session) =>
  session.refusals.length > 0
    ? []
    : session.once('polls until refused', () => pollUntilRefused(session));

/** A 429 of this run, which is asked for where there is none yet. */
export async function firstRefusal(session: Session): Promise<void> {
  await pollsUntilRefused(session);
  if (session.refusals.length === 0) {
    throw new NotShown('no request of this run was refused with 429');
  }
}

/** Polls until one is refused. Of two minutes' requests and one more, sent within a minute, one window has too many. */
async function pollUntilRefused(session: Session): Promise<Exchange[]> {
  const minute = minuteOf(session) ?? 120;
  if (session.requestsLeft < minute + 2) {
    throw new NotShown(`needs ${minute + 2} requests: --budget-requests`);
  }
  const startedAt = performance.now();
  const polls: Exchange[] = [];
  while (polls.length <= 2 * minute && performance.now() - startedAt <= 60_000) {
    const poll = await session.send('GET', UNKNOWN_JOB);
    const { status } = poll.response;
    polls.push(poll);
    demand(status < 500, `request ${polls.length} of a minute is answered with ${status}`, poll);
    if (session.refusals.length > 0) break;
  }
  return polls;
}
