import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openFileSink, openStreamSink, type TextSink, type TextWritable } from './text-sink.ts';

/**
 * Where the results go. Standard output can't be taken back: where a second pass may write all results anew, they are
 * gathered in a temporary file and copied at the end.
 */
export async function openResultsSink(
  output: string,
  stdout: TextWritable,
  mayBeRewritten: boolean,
): Promise<TextSink> {
  if (output !== '-') return await openFileSink(output);
  return mayBeRewritten ? await gathered(stdout) : openStreamSink(stdout);
}

async function gathered(stdout: TextWritable): Promise<TextSink> {
  const directory = await mkdtemp(join(tmpdir(), 'shortlink-results-'));
  const path = join(directory, 'results');
  const file = await openFileSink(path);
  const forget = () => rm(directory, { recursive: true, force: true });
  return {
    write: (text) => file.write(text),
    get full() {
      return file.full;
    },
    drain: () => file.drain(),
    discard: async () => {
      await file.discard();
      await forget();
    },
    finish: async () => {
      await file.finish();
      const copy = openStreamSink(stdout);
      for await (const text of createReadStream(path, 'utf8')) {
        copy.write(String(text));
        await copy.drain();
      }
      await forget();
    },
  };
}
