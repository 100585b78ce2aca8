import type { Session } from './session.ts';

/** A request and the response to it, as a report shows them. The API key is not in it. */
export interface Exchange {
  request: { method: string; path: string; headers: Record<string, string>; body: string };
  response: { status: number; headers: Record<string, string>; body: string };
}

/** What a run found out about a statement. */
export type Verdict =
  | { result: 'holds'; exchanges: Exchange[] }
  /** The service does otherwise, as the exchanges show. */
  | { result: 'fails'; reason: string; exchanges: Exchange[] }
  /** The run could not see it, such as a job without room for 101 links. */
  | { result: 'not shown'; reason: string; exchanges: Exchange[] };

/** A sentence of the protocol, and how a run sees whether it is true. */
export interface Statement {
  /** Names the statement in lists of known failures and in reports. It never changes. */
  id: string;
  /** The heading of the protocol page that it stands under. */
  section: string;
  /** The sentence, as on the protocol page. */
  text: string;
  /** An addition is no part of the protocol: a service may do without it. */
  isAddition?: true;
  /** `late`: uses up a limit of the account. `last`: looks back at all exchanges of the run. */
  runs?: 'late' | 'last';
  /**
   * Returns the exchanges that show it.
   *
   * @throws {Fails} the service does otherwise
   * @throws {NotShown} it can't be seen with this account, this budget or this service
   */
  check: (session: Session) => Promise<Exchange[]>;
}

/** Ends the check of a statement, with the exchanges that show why. */
class Ended extends Error {
  readonly exchanges: readonly Exchange[];

  constructor(reason: string, exchanges: readonly Exchange[] = []) {
    super(reason);
    this.exchanges = exchanges;
  }
}

/** The service does not do what the statement says. */
export class Fails extends Ended {}

/** The statement can't be seen. */
export class NotShown extends Ended {}

/** @throws {Fails} with `reason` where `condition` is false */
export function demand(
  condition: boolean,
  reason: string,
  ...exchanges: Exchange[]
): asserts condition {
  if (!condition) throw new Fails(reason, exchanges);
}

/** Fields of a body that is a JSON object, or none. */
export function fieldsOf(exchange: Exchange): Record<string, unknown> {
  const value = parse(exchange.response.body);
  return isObject(value) ? value : {};
}

/** Elements of a field that is an array of objects, or none. */
export function objectsIn(
  fields: Record<string, unknown>,
  name: string,
): Record<string, unknown>[] {
  const value = fields[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What a terminal obeys instead of showing it, and JSON lets stand as it is. */
const UNSAFE = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** JSON that a terminal shows as it is. Any character may be an escape in it. */
export const escapeUnsafe = (json: string) =>
  json.replace(UNSAFE, (unsafe) => `\\u${unsafe.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** A value as a reason shows it: JSON, at most 80 characters. */
export function show(value: unknown): string {
  const text = escapeUnsafe(JSON.stringify(value) ?? 'nothing');
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}
