import { setTimeout as sleep } from 'node:timers/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Fetch } from '../serve.ts';
import type { Fault, FaultScript } from './faults.ts';

/** Answers with `fetch`, except where the script has a fault for the request. */
export function fetchWithFaults(fetch: Fetch, faults: FaultScript): Fetch {
  return async (request, node) => {
    const fault = faults.take({ method: request.method, path: new URL(request.url).pathname });
    switch (fault?.kind) {
      case undefined:
        return fetch(request, node);
      case 'answer':
        return answer(fault);
      case 'delay':
        await sleep(fault.ms, undefined, { ref: false });
        return fetch(request, node);
      case 'drop':
        if (fault.when === 'before') await request.arrayBuffer();
        else await fetch(request, node);
        node.incoming.socket.destroy();
        return RESPONSE_ALREADY_SENT;
    }
  };
}

function answer({ status, retryAfterSeconds }: Extract<Fault, { kind: 'answer' }>): Response {
  // As the service's own answers: without these, a page in a browser sees a failed connection instead of the fault.
  const headers = new Headers({
    'Access-Control-Allow-Origin': '*',
    'Access-Control-Expose-Headers': 'Retry-After',
  });
  if (retryAfterSeconds !== undefined) headers.set('Retry-After', String(retryAfterSeconds));
  return Response.json({ error: `Scripted fault: ${status}.` }, { status, headers });
}
