import { afterAll } from 'vitest';

/**
 * Test files share a process, and a server that listens replaces these with lighter ones. Then msw, loaded before, no longer
 * recognizes a response.
 */
const { Request, Response } = globalThis;

afterAll(() => {
  for (const [name, value] of Object.entries({ Request, Response })) {
    Object.defineProperty(globalThis, name, { value, writable: true });
  }
});
