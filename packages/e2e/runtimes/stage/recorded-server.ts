import { startTestServer } from '@shortlink/server/testing';
import type { SeenRequest, StagedServerOptions } from '../suite/stage.ts';

/** A reference server that records its requests. */
export interface RecordedServer extends AsyncDisposable {
  baseUrl: string;
  apiKey: string;
  requests: readonly SeenRequest[];
}

/** Starts the whole service on a free port of 127.0.0.1. */
export async function startRecordedServer(options: StagedServerOptions): Promise<RecordedServer> {
  const { nowMs, ...others } = options;
  const server = await startTestServer({
    ...others,
    ...(nowMs !== undefined && { now: () => nowMs }),
  });
  const requests: SeenRequest[] = [];
  // The server calls its script for every request that it receives, which records them.
  const take = server.faults.take.bind(server.faults);
  server.faults.take = ({ method, path }) => {
    if (method !== 'OPTIONS') requests.push({ method, path });
    return take({ method, path });
  };
  return {
    baseUrl: server.url,
    apiKey: server.apiKey,
    requests,
    [Symbol.asyncDispose]: () => server.close(),
  };
}
