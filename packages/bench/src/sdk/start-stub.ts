import type { Children } from '../frame/children.ts';

/** Starts the stub server and resolves to its URL. */
export async function startStub(children: Children): Promise<string> {
  const stub = await children.start(new URL('./stub-server.ts', import.meta.url));
  return stub.ask<string>('url');
}
