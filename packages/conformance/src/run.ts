import { additions } from './additions.ts';
import { batchStatements, jobStatements, shapeStatements } from './core/batches.ts';
import { errorStatements, keyStatements } from './core/errors.ts';
import { bareLink, isPlanLimit, LINKS } from './core/facts.ts';
import { limitStatements, versionStatements } from './core/limits.ts';
import { createStatements, linkStatements, requestStatements } from './core/links.ts';
import {
  isPlanName,
  MAX_ATTEMPTS,
  PLAN_NAMES,
  Session,
  type SessionOptions,
  withoutKeys,
} from './session.ts';
import {
  type Exchange,
  Fails,
  fieldsOf,
  NotShown,
  type Statement,
  show,
  type Verdict,
} from './statement.ts';

/** Version of the statements. It changes when one is added, removed or asks for something else. */
export const PROTOCOL_VERSION = '1';

/** Every statement of the protocol, in the order of its page, and then the additions. */
export const statements: readonly Statement[] = [
  ...requestStatements,
  ...linkStatements,
  ...shapeStatements,
  ...createStatements,
  ...batchStatements,
  ...jobStatements,
  ...keyStatements,
  ...errorStatements,
  ...limitStatements,
  ...versionStatements,
  ...additions,
];

/** Options of {@link runConformance}. */
export interface ConformanceOptions extends SessionOptions {
  /** Ids of statements that are known to fail. @default none */
  expected?: readonly string[] | undefined;
  /** Leaves out the additions. @default false */
  isCoreOnly?: boolean | undefined;
  /** Called after each statement. */
  onVerdict?: ((verdict: StatementVerdict) => void) | undefined;
}

/** A statement and what the run found out about it. */
export type StatementVerdict = Pick<Statement, 'id' | 'section' | 'text' | 'isAddition'> &
  Verdict & {
    /** It was expected to fail. */
    isExpected: boolean;
  };

/** What a run found out about a service. */
export interface ConformanceReport {
  protocolVersion: string;
  baseUrl: string;
  plan: string | undefined;
  /** In the order of the protocol's page. */
  verdicts: StatementVerdict[];
  /** Ids that were expected to fail and hold, or that name no statement. */
  stale: string[];
  requestsSent: number;
  linksCreated: number;
  /** No statement of the protocol fails, except those that were expected to, and no expectation is stale. */
  isPassed: boolean;
}

type Kind = readonly [accepted: string, accepts: (value: unknown) => boolean];
const TEXT: Kind = ['a string', (value) => typeof value === 'string' && value !== ''];
const COUNT: Kind = ['a number from 0 on', (value) => typeof value === 'number' && value >= 0];
const CALL: Kind = ['a function', (value) => typeof value === 'function'];
const LIST: Kind = ['an array', Array.isArray];

/** What each option has to be. Plain JavaScript checks no types, and a run takes minutes. */
const KINDS: Readonly<Record<keyof ConformanceOptions, Kind>> = {
  baseUrl: [
    'an http or https address without query',
    (value) => /^https?:\/\/[^?#]+$/.test(String(value)),
  ],
  plan: [`one of ${PLAN_NAMES.join(', ')}`, isPlanName],
  isCoreOnly: ['true or false', (value) => typeof value === 'boolean'],
  ...{ apiKey: TEXT, readKey: TEXT, expected: LIST, domainIds: LIST },
  ...{ budgetRequests: COUNT, budgetLinks: COUNT, maxWaitMs: COUNT, timeoutMs: COUNT },
  ...{ fetch: CALL, sleep: CALL, onVerdict: CALL },
};

function checkOptions(options: Readonly<Record<string, unknown>>): void {
  const kinds: Readonly<Record<string, Kind>> = KINDS;
  const other = Object.keys(options).find((name) => !Object.hasOwn(kinds, name));
  if (other !== undefined) throw new TypeError(`There is no option ${other}.`);
  for (const [name, [accepted, accepts]] of Object.entries(kinds)) {
    const value = options[name];
    const isLeftOut = value === undefined && name !== 'baseUrl' && name !== 'apiKey';
    if (isLeftOut || accepts(value)) continue;
    throw new TypeError(`${name} is ${show(value)}; expected ${accepted}`);
  }
}

/** The run can't begin: the service can't be reached, doesn't accept the key, or lets it create no link. */
export class CannotRunError extends Error {
  override name = 'CannotRunError';
}

/**
 * Checks a service against the protocol, statement by statement, over HTTP. The links that it creates stay in the account, since the
 * protocol deletes none: use an account for tests.
 *
 * @throws {CannotRunError} the service can't be reached, doesn't accept the key, or lets it create no link
 * @throws {TypeError} an option is not what it has to be
 *
 * @example
 * ```ts
 * const report = await runConformance({ baseUrl: 'http://127.0.0.1:8787', apiKey });
 * console.log(report.verdicts.filter(({ result }) => result === 'fails'));
 * ```
 */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceReport> {
  checkOptions({ ...options });
  const session = new Session(options);
  await begin(session);
  const wanted = statements.filter(({ isAddition }) => !(isAddition && options.isCoreOnly));
  const expected = new Set(options.expected);
  const byId = new Map<string, StatementVerdict>();
  for (const statement of inRunningOrder(wanted)) {
    session.reservedRequests = statement.isAddition ? requestsOfLimits(session) : 0;
    const { id, section, text } = statement;
    const about = { id, section, text, ...(statement.isAddition && { isAddition: true as const }) };
    const verdict = {
      ...about,
      ...hideKeys(await check(statement, session), session),
      isExpected: expected.has(id),
    };
    byId.set(id, verdict);
    options.onVerdict?.(verdict);
  }
  const verdicts = wanted.flatMap(({ id }) => byId.get(id) ?? []);
  const stale = [...expected].filter((id) => {
    const result = byId.get(id)?.result;
    return result === 'holds' || !statements.some((statement) => statement.id === id);
  });
  const isBroken = verdicts.some(
    ({ result, isAddition, isExpected }) => result === 'fails' && !isAddition && !isExpected,
  );
  return {
    protocolVersion: PROTOCOL_VERSION,
    baseUrl: session.options.baseUrl,
    plan: session.plan,
    verdicts,
    stale,
    requestsSent: session.requestsSent,
    linksCreated: session.linksCreated,
    isPassed: !isBroken && stale.length === 0,
  };
}

async function begin(session: Session): Promise<void> {
  const { baseUrl } = session.options;
  try {
    await session.begin();
  } catch (error) {
    throw new CannotRunError(`${baseUrl}: ${(error as Error).message}`, { cause: error });
  }
  // A service without usage says only here what it thinks of the key. The statements need this link too.
  const failure = await bareLink(session).then(
    () => undefined,
    (error: Error) => error.message,
  );
  // This is the create, if it was sent. What a service says at paths that the protocol does not have decides nothing.
  const last = session.exchanges.at(-1);
  if (last?.response.status === 401) {
    throw new CannotRunError(`${baseUrl} does not accept the API key (401).`);
  }
  // Each other request would wait for minutes too.
  if (last?.response.status === 429 && session.refusals.length >= MAX_ATTEMPTS) {
    throw new CannotRunError(`${baseUrl}: ${failure}`);
  }
  if (last?.request.method === 'POST') demandPath(last, baseUrl);
  if (last?.request.method === 'POST' && isForbidden(last)) {
    const reason = withoutKeys(show(fieldsOf(last)['error']), session.options);
    throw new CannotRunError(`${baseUrl} lets the API key create no link (403): ${reason}`);
  }
}

/** An address that is mistyped, or that of another scheme or folder, would fail every statement. */
function demandPath({ response: { status, headers } }: Exchange, baseUrl: string): void {
  if (status === 404 || status === 405) {
    throw new CannotRunError(`${baseUrl} has no POST ${LINKS} (${status}). Is the address right?`);
  }
  // A page sees of a redirect nothing but that it is one: its status is 0.
  if (status === 0 || (status >= 300 && status < 400)) {
    const { location } = headers;
    const where = location === undefined ? '' : ` to ${show(location)} (${status})`;
    throw new CannotRunError(
      `${baseUrl} redirects${where}. Give the address of the service itself.`,
    );
  }
}

const isForbidden = (exchange: Exchange) =>
  exchange.response.status === 403 && !isPlanLimit(exchange);

/** What uses up a limit comes after all that creates links, and what looks back at the exchanges comes last. */
function inRunningOrder(wanted: readonly Statement[]): Statement[] {
  const order = ({ runs, isAddition }: Statement) =>
    runs === 'last' ? 3 : runs === 'late' ? 2 : isAddition ? 1 : 0;
  return wanted.toSorted((a, b) => order(a) - order(b));
}

/** Requests that the statements about limits need, which additions leave to them. */
const requestsOfLimits = ({ limits }: Session) =>
  limits === undefined ? 0 : 2 * limits.minute + 8;

async function check(statement: Statement, session: Session): Promise<Verdict> {
  try {
    return { result: 'holds', exchanges: await statement.check(session) };
  } catch (error) {
    if (error instanceof NotShown) return ended('not shown', error.message, error.exchanges);
    if (error instanceof Fails) return ended('fails', error.message, error.exchanges);
    throw error;
  }
}

const hideKeys = (verdict: Verdict, { options }: Session): Verdict =>
  JSON.parse(withoutKeys(JSON.stringify(verdict), options));

const ended = (result: 'fails' | 'not shown', reason: string, exchanges: readonly Exchange[]) => ({
  result,
  reason,
  exchanges: [...exchanges],
});
