import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A port of 127.0.0.1 that nobody listens on, for a program that must know it before it starts, or uses it again after a stop. It is
 * below those that systems give to whoever asks for any free port, so that no other test gets it meanwhile.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 32_000);
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return freePort();
  }
  probe.close();
  return port;
}
