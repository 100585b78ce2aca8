import { ApiError, ConnectionError } from '@shortlink/sdk';
import { assert } from 'chai';
import type { Check } from '../check.ts';
import { everyText } from '../every-text.ts';
import { rejection } from '../rejection.ts';

const LINK = { target_url: 'https://example.com/' };

export const secretChecks: readonly Check[] = [
  {
    name: 'the API key is nowhere in the client',
    async run(stage) {
      const { client, apiKey } = await stage.startServer();
      const shortlink = client();
      await shortlink.links.create(LINK);
      assert.notInclude(JSON.stringify(shortlink), apiKey);
      assert.notInclude(everyText(shortlink), apiKey);
      assert.notInclude(copyOf(shortlink), apiKey);
      // The test that started the runtime searches its console output for keys.
      console.log(shortlink);
      console.dir(shortlink, { depth: 20, showHidden: true });
    },
  },
  {
    name: 'the API key is nowhere in errors',
    async run(stage) {
      const fault = { kind: 'drop', when: 'after' } as const;
      const server = await stage.startServer({ faults: [{ method: 'POST', fault, times: 2 }] });
      const shortlink = server.client();
      const lost = await rejection(shortlink.links.create(LINK), ConnectionError);
      const refused = await rejection(shortlink.jobs.retrieve('some-job'), ApiError);
      for (const error of [lost, refused]) {
        assert.notInclude(String(error), server.apiKey);
        assert.notInclude(JSON.stringify(error), server.apiKey);
        assert.notInclude(everyText(error), server.apiKey);
        console.log(error);
        console.dir(error, { depth: 20, showHidden: true });
      }
    },
  },
];

/** The texts in a structured clone of a value. Where it can't be cloned, those of the error, which may quote it. */
function copyOf(value: unknown): string {
  try {
    return everyText(structuredClone(value));
  } catch (error) {
    return everyText(error);
  }
}
