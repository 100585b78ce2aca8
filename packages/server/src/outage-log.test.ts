import { expect, test } from 'vitest';
import { OutageLog } from './outage-log.ts';

function setUp() {
  const clock = { now: 0 };
  const lines: unknown[] = [];
  const logger = {
    error: (fields: object, text?: string) => lines.push([text, fields]),
    info: (fields: object, text?: string) => lines.push([text, fields]),
  };
  const log = new OutageLog({ logger, what: 'writing', now: () => clock.now });
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

test('what fails and works in turns is logged twice a minute at most', () => {
  const { clock, lines, log } = setUp();
  for (; clock.now < 600_000; clock.now += 100) {
    log.failed(new Error('down'));
    log.succeeded();
  }
  expect(lines).toHaveLength(20);
});
