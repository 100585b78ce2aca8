import type { ApiDescription, Operation } from './api-description.ts';

/** Headers that are absent from responses to unlimited accounts, and where the key was not checked. */
const OPTIONAL_HEADERS = ['RateLimit', 'RateLimit-Policy'];

/** A response as it was received. */
export interface RawAnswer {
  status: number;
  headers: Headers;
  text: string;
}

/** The differences between a response and the API description; empty when there are none. */
export function checkAnswer(
  api: ApiDescription,
  operation: Operation,
  method: string,
  answer: RawAnswer,
): string[] {
  const { status, headers, text } = answer;
  if (status >= 500) return [`status ${status}: ${text}`];
  const problems: string[] = [];
  if (!/^[\w=-]{1,128}$/.test(headers.get('x-request-id') ?? '')) problems.push('no request id');
  if (headers.has('x-powered-by') || headers.has('set-cookie')) problems.push('a header too many');
  // The description of GET applies to HEAD too, without the body. Preflights and wrong methods have rules of their own.
  if (method !== operation.method && !(method === 'HEAD' && operation.method === 'GET')) {
    if (![200, 204, 400, 401, 404, 405].includes(status))
      problems.push(`status ${status} to ${method}`);
    if (status === 405 && !headers.get('allow')) problems.push('405 without Allow');
    return problems;
  }
  const documented = operation.responses[status];
  if (documented === undefined) return [...problems, `status ${status} is not documented: ${text}`];
  for (const [name, { schema, required }] of Object.entries(documented.headers ?? {})) {
    const value = headers.get(name);
    if (value === null) {
      const isOptional = required === false || OPTIONAL_HEADERS.includes(name);
      if (!isOptional) problems.push(`${status} without ${name}`);
    } else {
      const typed = schema.type === 'integer' ? Number(value) : value;
      problems.push(...api.mismatches(schema, typed).map((words) => `${name}: ${words}`));
    }
  }
  if (method === 'HEAD') return text === '' ? problems : [...problems, 'a body to HEAD'];
  return [...problems, ...checkBody(api, documented.content, answer)];
}

function checkBody(
  api: ApiDescription,
  content: Operation['responses'][string]['content'],
  { status, headers, text }: RawAnswer,
): string[] {
  const type = headers.get('content-type')?.split(';')[0] ?? '';
  if (content === undefined) return text === '' ? [] : [`a body to ${status}: ${text}`];
  const described = content[type];
  if (described === undefined) return [`content type ${type} of ${status} is not documented`];
  const value = type === 'application/json' ? JSON.parse(text) : text;
  return api.mismatches(described.schema, value).map((words) => `body of ${status}: ${words}`);
}
