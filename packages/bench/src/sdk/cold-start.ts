import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Contender, interleave } from '../frame/rounds.ts';
import { medianOf, type Section, type SectionContext } from '../frame/section.ts';
import { startStub } from './stub.ts';

/** Programs: `load` imports the client, `create` then sends one create to the service at `url`. */
const PROGRAMS: Readonly<Record<string, { load: string; create: string }>> = {
  fetch: {
    load: '',
    create: `const headers = { 'X-Api-Key': 'k', 'Content-Type': 'application/json' };
      const body = JSON.stringify({ target_url: 'https://example.com/' });
      const response = await fetch(url + '/api/v1/links', { method: 'POST', headers, body });
      await response.json();`,
  },
  ky: {
    load: `import ky from 'ky';`,
    create: `const json = { target_url: 'https://example.com/' };
      await ky.post(url + '/api/v1/links', { json, headers: { 'X-Api-Key': 'k' } }).json();`,
  },
  '@shortlink/sdk': {
    load: `import { Shortlink } from '@shortlink/sdk';`,
    create: `const shortlink = new Shortlink({ apiKey: 'k', baseUrl: url });
      await shortlink.links.create({ target_url: 'https://example.com/' });`,
  },
  dub: {
    load: `import { Dub } from 'dub';`,
    create: `await new Dub({ token: 'k', serverURL: url }).links.create({ url: 'https://example.com/' });`,
  },
  openai: {
    load: `import OpenAI from 'openai';`,
    create: `const openai = new OpenAI({ apiKey: 'k', baseURL: url });
      await openai.chat.completions.create({ model: 'm', messages: [] });`,
  },
  '@anthropic-ai/sdk': {
    load: `import Anthropic from '@anthropic-ai/sdk';`,
    create: `const anthropic = new Anthropic({ apiKey: 'k', baseURL: url });
      await anthropic.messages.create({ model: 'm', max_tokens: 1, messages: [] });`,
  },
};

const FIRST_POST = 'import and first POST, ms';

/** A process that imports the client and creates one link, compared with one that calls `fetch`. */
const MOST_OF_FETCH = 1.4;

/** Rounds for each requested round: starting a process is short, and its time varies. */
const ROUNDS_FACTOR = 2;

/** Whole processes, from their start to their end. */
export async function measureColdStart({ children, rounds }: SectionContext): Promise<Section> {
  const url = await startStub(children);
  const ours = Object.entries(PROGRAMS).map(([name, { load, create }]): Contender => {
    const whole = `${load}\nconst url = ${JSON.stringify(url)};\n${create}\nprocess.exit();`;
    return {
      name,
      measure: async () => ({ 'import, ms': run(load), [FIRST_POST]: run(whole) }),
    };
  });
  const empty: Contender = {
    name: 'nothing (node itself)',
    measure: async () => ({ 'import, ms': run('') }),
  };
  const rows = await interleave([empty, ...ours], {
    rounds: rounds * ROUNDS_FACTOR,
    warmups: 1,
    ratio: { of: FIRST_POST, to: ['fetch'] },
  });
  return {
    title: 'Cold start',
    about: 'Whole Node processes, from start to end; the first line is what Node itself takes.',
    rows,
    checks: [
      {
        name: `${FIRST_POST}, ours to fetch`,
        measured: medianOf(rows, '@shortlink/sdk', 'to fetch'),
        wanted: { atMost: MOST_OF_FETCH },
      },
    ],
  };
}

/** Runs one program to its end; milliseconds. */
function run(code: string): number {
  const startedAt = performance.now();
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    timeout: 30_000,
  });
  const ms = performance.now() - startedAt;
  if (status !== 0) throw new Error(`the program ended with ${status}: ${stderr}`);
  return ms;
}
