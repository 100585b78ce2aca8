/** Headers of an answer, by name. Each is always written in the same way, so that a later value replaces an earlier one. */
export type AnswerHeaders = Record<string, string>;

/** What is needed here of a request's context. */
export interface HeaderContext {
  get(name: 'answerHeaders'): AnswerHeaders | undefined;
  set(name: 'answerHeaders', headers: AnswerHeaders): void;
}

/**
 * Puts a header on the answer that {@link answer} will make. Hono's own `c.header` collects them in a `Headers` object, which is
 * filled, sorted and read again for every answer and so costs more than all the rest of a redirect; a plain object goes to Node as it is.
 */
export function setHeader(c: HeaderContext, name: string, value: string): void {
  headersOf(c)[name] = value;
}

/** The same for several. */
export function setHeaders(c: HeaderContext, headers: Readonly<AnswerHeaders>): void {
  Object.assign(headersOf(c), headers);
}

/** Answers with the headers that were set so far and these. */
export function answer(
  c: HeaderContext,
  body: string | Uint8Array<ArrayBuffer> | null,
  status: number,
  headers?: Readonly<AnswerHeaders>,
): Response {
  return new Response(body, { status, headers: { ...headersOf(c), ...headers } });
}

/** Answers with JSON. */
export function answerJson(
  c: HeaderContext,
  value: object,
  status = 200,
  headers?: Readonly<AnswerHeaders>,
): Response {
  setHeader(c, 'Content-Type', 'application/json');
  return answer(c, JSON.stringify(value), status, headers);
}

function headersOf(c: HeaderContext): AnswerHeaders {
  let headers = c.get('answerHeaders');
  if (headers === undefined) {
    headers = {};
    c.set('answerHeaders', headers);
  }
  return headers;
}
