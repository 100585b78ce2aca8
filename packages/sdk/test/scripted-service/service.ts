/** A request as it reaches the service. */
export interface ServiceRequest {
  method: string;
  path: string;
  headers: Readonly<Record<string, string>>;
  body: string | undefined;
}

export interface ServiceResponse {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** A link that the service has made. */
export interface MadeLink {
  code: string;
  target: string;
  domain: string | undefined;
  title: string;
  tags: readonly string[];
  redirect_type: number | undefined;
  /** All of these in one text. */
  content: string;
  /** Number of the request it was made for. */
  request: number;
}

/** The redirect type of a link that asks for none. */
export const USUAL_REDIRECT = 302;

/** A link as it is sent. */
export interface Entry {
  target_url: string;
  title?: string;
  tags?: readonly string[];
  redirect_type?: number;
  domain_id?: string | undefined;
}

/** All that a link is beside target and domain, as one text. */
export function contentOfLink({
  title = '',
  tags = [],
  redirect_type = USUAL_REDIRECT,
}: Omit<Entry, 'target_url'>): string {
  const redirect = redirect_type === USUAL_REDIRECT ? [] : [`(${redirect_type})`];
  return [title, ...tags.map((tag) => `#${tag}`), ...redirect].join(' ');
}

export function madeLink(code: string, entry: Entry, request: number): MadeLink {
  const { target_url: target, domain_id: domain, title = '', tags = [], redirect_type } = entry;
  return {
    code,
    target,
    domain,
    title,
    tags,
    redirect_type,
    content: contentOfLink(entry),
    request,
  };
}

/** A service that tests and simulations play with. They know what it has done, which no client can ask. */
export interface Service {
  /** Every link that was ever made, in that order. */
  readonly made: readonly MadeLink[];
  /** Does the work of a request; undefined where it was killed meanwhile. */
  handle(
    request: ServiceRequest,
    number: number,
  ): Promise<ServiceResponse | undefined> | ServiceResponse;
  /** It stops and starts again: what was acknowledged is still there. */
  restart(): void;
  /** Lets the jobs come as far as they are by now. */
  settle(): void;
  setKey(key: string, mayWrite: boolean): void;
  setLinkLimit(links: number): void;
  /** Whether it takes the titles that it refuses else. */
  setLenient(isLenient: boolean): void;
  /** Another program makes links of the same plan. */
  useUp(links: number): void;
  /** No limits any more, and no job that takes hours. */
  unlimit(): void;
  close(): void;
}

export function json(status: number, body: object, headers: Record<string, string> = {}) {
  const type = { 'content-type': 'application/json' };
  return { status, headers: { ...type, ...headers }, body: JSON.stringify(body) };
}
