import type { Store } from '../../src/inner-server.ts';
import { PUBLIC_URL, type World } from './world.ts';

/** What a command printed. */
export interface Typed {
  exitCode: number;
  out: string;
  err: string;
  // biome-ignore lint/suspicious/noExplicitAny: the rules look into whatever was printed.
  json: any;
}

/** How a command is carried out. */
export interface Typing {
  /** Whether the database may fail it. @default `false` */
  mayFail?: boolean;
  /** What it reads. @default nothing */
  stdin?: string;
  /** Its environment. @default the public URL of the service */
  env?: Record<string, string>;
  /** What it finds when it looks at its database. @default it is all right */
  facts?: object;
}

/** Carries out a command line of the operator with the server's own program, in a process of its own. */
export async function type(world: World, words: readonly string[], typing: Typing = {}) {
  const { mayFail = false, stdin = '', env = { SHORTLINK_PUBLIC_URL: PUBLIC_URL }, facts } = typing;
  const out: string[] = [];
  const err: string[] = [];
  const refuse = () => Promise.reject(new Error('not simulated'));
  world.scheduler.filesUsed += 1;
  const exitCode = await world.operate(
    (store, { runProgram }) =>
      runProgram(words, '0.0.0', {
        env,
        stdin: piecesOf(stdin),
        write: async (text) => void out.push(text),
        err: (line) => void err.push(line),
        now: () => world.scheduler.now,
        databaseTools: () => ({
          // The simulation closes it.
          open: async (): Promise<Store> => ({ ...store, close: async () => undefined }),
          inspect: async () => ({ version: 1, newest: 1, ...facts }) as never,
          ...{ migrate: refuse, backup: refuse },
        }),
        start: refuse,
        interruptible: (act) => act(new AbortController().signal),
      }),
    mayFail,
  );
  world.scheduler.filesUsed -= 1;
  const text = out.join('');
  const json = words.includes('--json') && text !== '' ? JSON.parse(text) : undefined;
  return { exitCode, out: text, err: err.join('\n'), json } satisfies Typed;
}

async function* piecesOf(text: string): AsyncGenerator<string> {
  yield text;
}

/** The same, of a command that can't fail; what it prints as JSON. */
export async function typed(world: World, ...words: readonly string[]): Promise<Typed['json']> {
  const { exitCode, err, json } = await type(world, [...words, '--json']);
  if (exitCode !== 0) throw new Error(`${words.join(' ')} fails: ${err}`);
  return json;
}
