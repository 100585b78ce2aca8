/**
 * Plays a part of the night: `node packages/e2e/scripts/nightly/play.ts PART`. Writes `nightly/PART.json` with what was played and, where it
 * failed, what shows it. The exit code is that of the part.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { env } from 'node:process';
import { fileURLToPath } from 'node:url';
import { partsOf } from './parts.ts';
import { againOf, type PlayedPart } from './played.ts';

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** The end of an output that an issue shows; GitHub takes 65,536 characters. */
const SHOWN_CHARS = 20_000;

/** Failing seeds that are played again, each shortened. */
const SHOWN_SEEDS = 3;

const DAY_MS = 86_400_000;

/** Runs a command of the workspace, shows its output, and keeps it. */
async function pnpm(command: readonly string[], variables: Record<string, string> = {}) {
  const child = spawn('pnpm', [...command], {
    cwd: ROOT,
    env: { ...env, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const [from, to] of [
    [child.stdout, process.stdout],
    [child.stderr, process.stderr],
  ] as const) {
    from.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      to.write(text);
    });
  }
  const [code, signal] = await once(child, 'close');
  return { isPassed: code === 0, output: signal === null ? output : `${output}\n${signal}` };
}

/** What shows a failure: each failing seed, shortened, or else the end of the output. */
async function evidenceOf(output: string): Promise<string> {
  const shown = [output.slice(-SHOWN_CHARS / 4)];
  for (const again of againOf(output).slice(0, SHOWN_SEEDS)) {
    const { output: short } = await pnpm(again);
    shown.push(`$ pnpm ${again.join(' ')}`, short.slice(-SHOWN_CHARS / 4));
  }
  return shown.join('\n');
}

const [name = ''] = process.argv.slice(2);
const day = Math.floor(Date.now() / DAY_MS);
const part = partsOf(day)[name];
if (part === undefined) {
  throw new Error(`There is no part "${name}"; there are ${Object.keys(partsOf(day)).join(', ')}.`);
}
const { command, amount, unit } = part;
const { isPassed, output } = await pnpm(command, part.env);
const played: PlayedPart = {
  name,
  date: new Date(day * DAY_MS).toISOString().slice(0, 10),
  command: `pnpm ${command.join(' ')}`,
  amount,
  unit,
  ...(!isPassed && { failure: await evidenceOf(output) }),
};
await mkdir(`${ROOT}nightly`, { recursive: true });
await writeFile(`${ROOT}nightly/${name}.json`, JSON.stringify(played, undefined, 2));
process.exitCode = isPassed ? 0 : 1;
