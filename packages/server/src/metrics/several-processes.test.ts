import { expect, test } from 'vitest';
import { addUp, countersOf, Metrics } from './metrics.ts';

/** Metrics of a process after so many requests to this route. */
async function familiesOf(requests: number, isHealthy: boolean, jobs: number, route = '/') {
  const metrics = new Metrics();
  metrics.watchStore(
    { isHealthy: () => isHealthy, connections: () => ({ idle: 2 }) as never },
    () => jobs,
  );
  metrics.watchProcess();
  for (let sent = 0; sent < requests; sent += 1) {
    metrics.countRequest({ route, method: 'GET', status: 200, seconds: 0.25 });
  }
  return (await metrics.families()) as { name: string; values: { value: number }[] }[];
}

const REQUESTS = 'shortlink_http_requests_total';

test('counters and numbers of things are added up; the worst of the states is shown', async () => {
  const [one, other] = [await familiesOf(2, true, 7), await familiesOf(3, false, 4)];
  const set = (name: string, values: [number, number]) => {
    for (const [at, families] of [one, other].entries()) {
      const value = families.find((family) => family.name === name)?.values[0];
      if (value !== undefined) value.value = values[at] ?? 0;
    }
  };
  set('process_resident_memory_bytes', [100, 50]);
  set('nodejs_eventloop_lag_seconds', [0.1, 0.4]);
  set('process_start_time_seconds', [20, 10]);
  set('process_max_fds', [1_024, 1_024]);
  const lines = (await addUp([one, other]).metrics()).split('\n');
  const name = 'shortlink_http_request_duration_seconds';
  expect(lines).toEqual(
    expect.arrayContaining([
      `# TYPE ${REQUESTS} counter`,
      `${REQUESTS}{route="/",method="GET",status="200"} 5`,
      `# TYPE ${name} histogram`,
      `${name}_bucket{le="0.1",route="/"} 0`,
      `${name}_bucket{le="+Inf",route="/"} 5`,
      `${name}_sum{route="/"} 1.25`,
      `${name}_count{route="/"} 5`,
      'shortlink_database_up 0',
      'shortlink_jobs_pending 7',
      'shortlink_database_connections{state="idle"} 4',
      'process_resident_memory_bytes 150',
      'nodejs_eventloop_lag_seconds 0.4',
      'process_start_time_seconds 10',
      'process_max_fds 1024',
    ]),
  );
  expect(lines.filter((line) => line.startsWith('nodejs_version_info'))).toEqual([
    expect.stringMatching(/ 1$/),
  ]);
});

test('series that one process alone has', async () => {
  const text = await addUp([
    await familiesOf(2, true, 0),
    await familiesOf(1, true, 0, '/b'),
  ]).metrics();
  expect(text).toContain(`${REQUESTS}{route="/",method="GET",status="200"} 2\n`);
  expect(text).toContain(`${REQUESTS}{route="/b",method="GET",status="200"} 1\n`);
  expect(text.match(new RegExp(`# TYPE ${REQUESTS}`, 'g'))).toHaveLength(1);
});

test('of a process that has ended, only its counters stay', async () => {
  const left = countersOf(await familiesOf(2, true, 7));
  const text = await addUp([left]).metrics();
  expect(text).toContain(`${REQUESTS}{route="/",method="GET",status="200"} 2\n`);
  expect(text).toContain('shortlink_http_request_duration_seconds_sum{route="/"} 0.5\n');
  expect(text).toContain('process_cpu_seconds_total');
  expect(text).not.toContain('gauge');
  expect(await addUp([addUp([left, []]).getMetricsAsArray(), []]).metrics()).toBe(text);
});
