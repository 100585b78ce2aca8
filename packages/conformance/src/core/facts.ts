import type { Session } from '../session.ts';
import { demand, type Exchange, Fails, fieldsOf, NotShown, objectsIn, show } from '../statement.ts';

/** The paths of the protocol. */
export const LINKS = '/api/v1/links';
export const BATCH = '/api/v1/links/batch';
export const JOBS = '/api/v1/jobs/';

/** What only the reference server has. */
export const LOOKUP = '/api/v1/links/lookup';

/** A job that no service has. */
export const UNKNOWN_JOB = `${JOBS}00000000-0000-4000-8000-000000000000`;

export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** What a link with every field is created with. */
export const TITLE = 'Überblick: prices & "plans" 2026 ✓';
export const TAGS = ['conformance', 'spring sale'];

export const isSuccess = ({ response }: Exchange) =>
  response.status >= 200 && response.status < 300;

/** Whether the protocol has the request. What a service says to others, and to bodies that are too large or no JSON, it leaves open. */
export const isOfProtocol = ({ request: { method, path }, response }: Exchange) =>
  method + path === `POST${LINKS}` || method + path === `POST${BATCH}`
    ? response.status !== 413 && response.status !== 415
    : method === 'GET' && path.startsWith(JOBS);

/** Whether a response says that the account's plan allows no more. */
export const isPlanLimit = (exchange: Exchange) =>
  exchange.response.status === 403 && fieldsOf(exchange)['upgrade'] === true;

/** A link with every field that a caller can give. */
export const fullLink = (session: Session) =>
  session.once('full link', () =>
    createLink(session, 'full', { title: TITLE, tags: TAGS, redirect_type: 301 }),
  );

/** A link with nothing but its target. */
export const bareLink = (session: Session) =>
  session.once('bare link', () => createLink(session, 'bare', {}));

/** Creates a link. What a service says to a valid one decides every statement that needs it. */
export async function createLink(
  session: Session,
  name: string,
  fields: object,
): Promise<Exchange> {
  const body = { target_url: session.target(name), ...fields };
  return created(await session.send('POST', LINKS, { body, links: 1 }));
}

/** A batch of two links with the optional fields of an entry. */
export const smallBatch = (session: Session) =>
  session.once('small batch', () => {
    const links = [
      { target_url: session.target('batch-1'), title: TITLE, tags: TAGS },
      { target_url: session.target('batch-2') },
    ];
    return createBatch(session, links);
  });

/** Creates as many links as the plan lets a service respond to at once, up to 100. */
export const hundredBatch = (session: Session) =>
  session.once('batch of 100', () => createBatch(session, targets(session, 'hundred', 100)));

/** Creates the smallest batch that becomes a job. */
export const acceptedJob = (session: Session) =>
  session.once('job', () => {
    if ((session.limits?.batch ?? 101) < 101) {
      throw new NotShown('needs a plan whose batches hold 101 links');
    }
    return createBatch(session, targets(session, 'job', 101));
  });

/** Polls the job until it is complete, and returns every poll. */
export const jobPolls = (session: Session) => session.once('polls', () => pollJob(session));

const MAX_POLLS = 30;

/** Longest that a job is polled, where the service asks for long waits. */
const MAX_POLLING_MS = 600_000;

async function pollJob(session: Session): Promise<Exchange[]> {
  const accepted = await acceptedJob(session);
  const { job_id } = fieldsOf(accepted);
  if (typeof job_id !== 'string') throw new NotShown('no job was accepted', [accepted]);
  const { maxWaitMs = 90_000 } = session.options;
  const polls: Exchange[] = [];
  for (let waitedMs = 0; polls.length < MAX_POLLS && waitedMs < MAX_POLLING_MS; ) {
    const poll = await session.send('GET', JOBS + encodeURIComponent(job_id));
    polls.push(poll);
    const { status } = poll.response;
    demand(status === 200, `the job's poll is ${status}`, accepted, poll);
    if (fieldsOf(poll)['status'] !== 'processing') return polls;
    const askedMs = Number(poll.response.headers['retry-after']) * 1_000 || 0;
    // Each wait is longer than the one before, up to ten seconds: a job may take minutes.
    const waitMs = Math.max(Math.min(polls.length, 10) * 1_000, Math.min(askedMs, maxWaitMs));
    waitedMs += waitMs;
    await session.sleep(waitMs);
  }
  const processedIn = (poll = accepted) => Number(fieldsOf(poll)['processed']) || 0;
  const now = processedIn(polls.at(-1));
  // The protocol says of no job how long it takes. One that still proceeds may end.
  if (now > processedIn(polls[Math.floor(polls.length / 2)])) {
    const reason = `the job has processed ${now} of 101 links after ${polls.length} polls`;
    throw new NotShown(reason, polls.slice(-1));
  }
  throw new Fails(`the job is still processing after ${polls.length} polls`, polls.slice(-1));
}

export const targets = (session: Session, name: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({ target_url: session.target(`${name}-${index}`) }));

export async function createBatch(
  session: Session,
  links: object[],
  fields = {},
): Promise<Exchange> {
  const body = { ...fields, links };
  return created(await session.send('POST', BATCH, { body, links: links.length }));
}

/** Sends a batch that is to be refused. A service that takes it creates its links, for which a budget that was given must have room. */
export async function sendTooMany(session: Session, links: object[]): Promise<Exchange> {
  if (session.options.budgetLinks !== undefined && session.linksLeft < links.length) {
    throw new NotShown(`needs a budget for ${links.length} links, should it fail: --budget-links`);
  }
  const batch = await session.send('POST', BATCH, { body: { links } });
  if (isSuccess(batch)) session.linksCreated += links.length;
  return batch;
}

function created(exchange: Exchange): Exchange {
  if (isSuccess(exchange)) return exchange;
  if (isPlanLimit(exchange)) throw new NotShown('the plan has no room for it', [exchange]);
  throw new Fails(`a valid request is refused with ${exchange.response.status}`, [exchange]);
}

export function demandStatus(exchange: Exchange, wanted: number): Exchange {
  const { status } = exchange.response;
  demand(status === wanted, `the status is ${status}, not ${wanted}`, exchange);
  return exchange;
}

/** Sends links, with a target where `fields` has none, and demands that each is refused with 400. */
export async function demandInvalid(session: Session, fields: object[]): Promise<Exchange[]> {
  const attempts: Exchange[] = [];
  for (const some of fields) {
    const body = { target_url: session.target('invalid'), ...some };
    attempts.push(demandStatus(await session.send('POST', LINKS, { body, links: 1 }), 400));
  }
  return attempts;
}

/** Demands a refusal: a status from 400 to 499. */
export function refused(exchange: Exchange, what: string): Exchange {
  const { status } = exchange.response;
  demand(status >= 400 && status < 500, `${what} is answered with ${status}`, exchange);
  return exchange;
}

/** Whether a code is the last path segment of a short URL, where characters may be percent-encoded. */
export function endsWithCode(shortUrl: unknown, code: unknown): boolean {
  const last = URL.parse(String(shortUrl))?.pathname.split('/').at(-1);
  return last !== undefined && (last === code || decoded(last) === code);
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Demands that each result of a batch or job has its target, code and short URL, each code once. */
export function demandItems(exchange: Exchange, sent: readonly { target_url: string }[]): void {
  const items = objectsIn(fieldsOf(exchange), 'results');
  demand(
    items.length === sent.length,
    `${items.length} results for ${sent.length} links`,
    exchange,
  );
  for (const item of items) {
    for (const field of ['target_url', 'code', 'short_url']) {
      const value = item[field];
      demand(
        typeof value === 'string' && value !== '',
        `a result's ${field} is ${show(value)}`,
        exchange,
      );
    }
    demand(
      endsWithCode(item['short_url'], item['code']),
      `a result's short_url ${show(item['short_url'])} doesn't end with its code ${show(item['code'])}`,
      exchange,
    );
  }
  const wanted = sent.map(({ target_url }) => target_url).sort();
  const got = items.map((item) => String(item['target_url'])).sort();
  const isSame = wanted.every((target, index) => target === got[index]);
  demand(isSame, 'the results have other targets', exchange);
  const codes = new Set(items.map((item) => item['code']));
  demand(codes.size === items.length, 'two results have one code', exchange);
}

/** Compares a limit that the service states about the account with that of the plan. */
export async function stated(
  session: Session,
  path: string,
  limitOf: (limits: NonNullable<Session['limits']>) => number,
) {
  if (session.usage === undefined) throw new NotShown('needs GET /api/v1/usage, or an operator');
  if (session.limits === undefined) throw new NotShown('needs a plan with known limits');
  const value = session.usageNumber(...path.split('.'), 'limit');
  if (value === undefined)
    throw new NotShown(`the usage has no number ${path}.limit`, [session.usage]);
  const wanted = limitOf(session.limits);
  demand(
    value === wanted,
    `the usage states ${show(value)}, the plan has ${wanted}`,
    session.usage,
  );
  return [session.usage];
}
