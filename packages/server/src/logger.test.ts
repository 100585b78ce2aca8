import { spawnSync } from 'node:child_process';
import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { boundedWriter, createLogger, OutageLog } from './logger.ts';

/** A stream whose reader takes a line when it is told to. */
function stalledStream() {
  const lines: string[] = [];
  let resume: (() => void) | undefined;
  const stream = new Writable({
    decodeStrings: false,
    write: (line: string, _encoding, done) => {
      lines.push(line);
      resume = done;
    },
  });
  const readOn = async () => {
    while (resume !== undefined) {
      const next = resume;
      resume = undefined;
      next();
      await endOfTurn();
    }
  };
  return { stream, lines, readOn };
}

const endOfTurn = () => new Promise((resolve) => setImmediate(resolve));

test('while nobody reads, lines are kept up to a bound; the others are counted, and the log continues', async () => {
  const { stream, lines, readOn } = stalledStream();
  const write = boundedWriter(stream);
  const line = `${'x'.repeat(1_023)}\n`;
  for (let n = 0; n < 2_000; n += 1) write(line);
  await endOfTurn();
  for (let n = 0; n < 1_000; n += 1) write(line);
  await endOfTurn();
  expect(stream.writableLength).toBe(1024 * 1024);
  await readOn();
  expect(lines[0]).toBe(line.repeat(1_024));
  expect(lines).toHaveLength(2);
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ level: 'warn', dropped: 3_000 - 1_024 });
  write('back\n');
  await endOfTurn();
  expect(lines.at(-1)).toBe('back\n');
  await readOn();
  // Those of a second time are counted by themselves.
  for (let n = 0; n < 1_100; n += 1) write(line);
  await endOfTurn();
  await readOn();
  expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ dropped: 1_100 - 1_024 });
});

test('what may be a secret is not written, also one level down', () => {
  const lines: string[] = [];
  const secrets = { key: 's', apiKey: 's', headers: { a: 's' } };
  const logger = createLogger('info', (line) => lines.push(line));
  logger.info({ ...secrets, request: { ...secrets, id: 'r' } }, 'text');
  const line = { level: 'info', time: expect.any(String), request: { id: 'r' }, msg: 'text' };
  expect(JSON.parse(lines[0] ?? '')).toEqual(line);
});

test('a reader that goes away ends nothing', async () => {
  const stream = new Writable({ write: (_line, _encoding, done) => done(new Error('EPIPE')) });
  const write = boundedWriter(stream);
  write('a\n');
  await endOfTurn();
  write('b\n');
  await endOfTurn();
});

test('lines of one turn are one write, and those of the last turn are written when the process ends', async () => {
  const { stream, lines } = stalledStream();
  const write = boundedWriter(stream);
  write('a\n');
  write('b\n');
  expect(lines).toEqual([]);
  await endOfTurn();
  expect(lines).toEqual(['a\nb\n']);
  const program = `
    const { boundedWriter } = await import(${JSON.stringify(new URL('./logger.ts', import.meta.url).href)});
    boundedWriter(process.stderr)('last\\n');
    process.exit();`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program]);
  expect(String(stderr)).toBe('last\n');
});

function setUp() {
  const clock = { now: 0 };
  const lines: unknown[] = [];
  const logger = {
    error: (fields: object, text?: string) => lines.push([text, fields]),
    info: (fields: object, text?: string) => lines.push([text, fields]),
  };
  const log = new OutageLog('writing', logger, () => clock.now);
  return { clock, lines, log };
}

test('an hour of failures is the first, one a minute, and the end', () => {
  const { clock, lines, log } = setUp();
  const down = new Error('down');
  log.succeeded();
  for (; clock.now < 3_600_000; clock.now += 100) log.failed(down, { jobId: 'a' });
  log.succeeded();
  log.succeeded();
  expect(lines).toHaveLength(61);
  expect(lines[0]).toEqual(['writing failed', { err: down, jobId: 'a', not_logged: 0 }]);
  expect(lines[1]).toEqual(['writing failed', { err: down, jobId: 'a', not_logged: 599 }]);
  expect(lines.at(-1)).toEqual(['writing works again', { not_logged: 599 }]);
});

test('a second outage within a minute is logged from its beginning to its end', () => {
  const { clock, lines, log } = setUp();
  for (const at of [0, 20_000]) {
    clock.now = at;
    log.failed('down');
    log.failed('down');
    clock.now += 5_000;
    log.succeeded();
  }
  const outage = [
    ['writing failed', { err: 'down', not_logged: 0 }],
    ['writing works again', { not_logged: 1 }],
  ];
  expect(lines).toEqual([...outage, ...outage]);
});

test('a long outage counts once: three short ones after it are logged, too', () => {
  const { clock, lines, log } = setUp();
  for (; clock.now <= 600_000; clock.now += 1_000) log.failed('down');
  log.succeeded();
  lines.length = 0;
  for (let outage = 0; outage < 3; outage += 1) {
    clock.now += 1_000;
    log.failed('down');
    log.succeeded();
  }
  expect(lines).toHaveLength(6);
});

test('what fails and works in turns is logged six times a minute at most', () => {
  const { clock, lines, log } = setUp();
  for (; clock.now < 600_000; clock.now += 100) {
    log.failed(new Error('down'));
    log.succeeded();
  }
  expect(lines).toHaveLength(60);
});
