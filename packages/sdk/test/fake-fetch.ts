import type { Fetch } from '../src/options.ts';
import { settle } from './fake-clock.ts';

/** A `fetch` that the test answers by hand: what was sent waits in `sent` until it is answered. */
export class FakeFetch {
  readonly sent: { request: Request; answer: (response: Response) => Promise<void> }[] = [];

  readonly fetch: Fetch = (url, init) =>
    new Promise((resolve, reject) => {
      const { signal } = init;
      signal.addEventListener('abort', () => reject(signal.reason));
      this.sent.push({
        request: new Request(url, init),
        answer: (response) => {
          resolve(response);
          return settle();
        },
      });
    });

  /** Answers the `index`th request that was sent, from 0. */
  async answer(index: number, response: Response): Promise<void> {
    await settle();
    const entry = this.sent[index];
    if (entry === undefined) throw new Error(`request ${index} was not sent`);
    await entry.answer(response);
  }
}
