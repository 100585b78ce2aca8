/** What a proxy or a service in trouble sends instead of a response. */
import type { ServiceResponse } from '../../../sdk/test/scripted-service/service.ts';
import type { World } from './world.ts';

export function errorPage(
  status: number,
  error: string,
  headers: Record<string, string>,
): ServiceResponse {
  return { status, headers, body: JSON.stringify({ error }) };
}

/** The forms of `Retry-After`, of which some can't be read. */
export function retryAfter(form: number, world: World): Record<string, string> {
  const seconds = 1 + (form % 70);
  switch (form % 7) {
    case 0:
      return {};
    case 1:
      return { 'retry-after': 'soon' };
    case 2:
      return { 'retry-after': '-5' };
    case 3: {
      const now = world.scheduler.now;
      const date = new Date(now + seconds * 1000).toUTCString();
      return { date: new Date(now).toUTCString(), 'retry-after': date };
    }
    case 4:
      return { 'retry-after': form % 2 === 0 ? '3600' : '40000' };
    default:
      return { 'retry-after': `${seconds}` };
  }
}

/** A response that says less than it should. */
export function oddly(response: ServiceResponse, form: number): ServiceResponse {
  const { body } = response;
  const odd = (text: string) => ({ ...response, body: text });
  if (response.status >= 300) return odd('[1, 2');
  const answer = JSON.parse(body) as { results?: Record<string, unknown>[] };
  switch (form % 5) {
    case 0:
      return odd('{}');
    case 1:
      return odd('[]');
    case 2:
      return odd('');
    case 3: {
      const { results } = answer;
      const missing = Math.floor(form / 5) % (results?.length || 1);
      const rest = results?.toSpliced(missing, 1);
      return odd(JSON.stringify({ ...answer, ...(rest && { results: rest }) }));
    }
    default:
      return odd(
        JSON.stringify({
          ...answer,
          ...(answer.results && {
            // A remark about a link that was created would be a refusal where its code is missing.
            results: answer.results.map((item) => ({
              ...item,
              error: item['code'] ? undefined : item['error'],
              code: null,
            })),
          }),
        }),
      );
  }
}
