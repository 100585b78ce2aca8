import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stubService, USAGE } from '../stub-service.ts';
import { cli } from '../test-io.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-20T08:00:28.000Z') });
});
afterEach(() => {
  vi.useRealTimers();
});

test('draws a bar for each window and each resource', async () => {
  const service = await stubService();
  const { exitCode, stdout } = await cli(['usage'], { env: service.env });
  expect(exitCode).toBe(0);
  expect(stdout.split('\n')).toEqual([
    'Plan                 pro',
    'Requests this minute ████░░░░░░░░░░░░░░░░░░░░  20%  12 of 60  resets in 32 s',
    'Requests today       █████████████████████░░░  90%  9,000 of 10,000  resets in 16 h',
    'Requests this month  ████████████░░░░░░░░░░░░  50%  100,000 of 200,000  resets in 11 days',
    'Short links          1,234, no limit',
    'API keys             ████████████████████████ 100%  3 of 3',
    'Batch size           up to 100 links',
    '',
  ]);
});

test('a limit of 0 is reached, and the batches of a plan that names no size are as large as any', async () => {
  const service = await stubService();
  const body = { ...USAGE, links: { used: 0, limit: 0 }, batch_size: null };
  service.answer('GET /api/v1/usage', { status: 200, body });
  const { stdout } = await cli(['usage'], { env: service.env });
  expect(stdout).toContain(`Short links          ${'█'.repeat(24)} 100%  0 of 0\n`);
  expect(stdout).toContain('Batch size           up to 10,000 links\n');
});

test('colours on a terminal say how near a limit is', async () => {
  const service = await stubService();
  const { stdout } = await cli(['usage'], {
    env: { ...service.env, TERM: 'xterm-256color' },
    tty: { stdout: true },
  });
  expect(stdout).toContain('\u001b[33m█████████████████████░░░');
  expect(stdout).toContain('\u001b[31m████████████████████████');
});

test.each([{ NO_COLOR: '1' }, { CI: 'true' }, { TERM: 'dumb' }])(
  'no colour with %j',
  async (env) => {
    const service = await stubService();
    const { stdout } = await cli(['usage'], {
      env: { ...service.env, ...env },
      tty: { stdout: true },
    });
    expect(stdout).not.toContain('\u001b');
  },
);

test('no colour with --no-color; FORCE_COLOR colours a pipe', async () => {
  const service = await stubService();
  const env = { ...service.env, FORCE_COLOR: '1' };
  expect((await cli(['usage'], { env })).stdout).toContain('\u001b[');
  expect((await cli(['usage', '--no-color'], { env })).stdout).not.toContain('\u001b');
});

test('a website at the base URL is named as what may be wrong', async () => {
  const service = await stubService();
  service.answer('GET /api/v1/usage', { status: 200, body: 'Welcome' });
  const { exitCode, stderr } = await cli(['usage'], { env: service.env });
  expect(exitCode).toBe(1);
  expect(stderr).toContain(
    "error: The service's 200 response is not an object\n  Something else may",
  );
});

test('--json prints the usage as the service sent it', async () => {
  const service = await stubService();
  const { stdout } = await cli(['usage', '--json'], { env: service.env });
  expect(JSON.parse(stdout)).toEqual(USAGE);
});

test('a service without the endpoint is distinguished from a wrong address', async () => {
  const service = await stubService();
  service.answer('GET /api/v1/usage', { status: 404, body: { error: 'not found' } });
  const result = await cli(['usage'], { env: service.env });
  expect(result.exitCode).toBe(1);
  expect(result.stderr).toMatch(/does not report usage/);
});
