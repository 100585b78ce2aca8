import { expect, test } from 'vitest';
import { addUp, countersOf } from './add-up.ts';

const text = (
  requests: number,
  up: number,
  memory: number,
  lag: number,
) => `# HELP shortlink_x_total Requests
# TYPE shortlink_x_total counter
shortlink_x_total{route="/",status="200"} ${requests}
# HELP shortlink_d Durations
# TYPE shortlink_d histogram
shortlink_d_bucket{le="+Inf",route="/"} ${requests}
shortlink_d_sum{route="/"} 0.5
# HELP shortlink_database_up Up
# TYPE shortlink_database_up gauge
shortlink_database_up ${up}
# HELP process_resident_memory_bytes Memory
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes ${memory}
# HELP nodejs_eventloop_lag_seconds Lag
# TYPE nodejs_eventloop_lag_seconds gauge
nodejs_eventloop_lag_seconds ${lag}
`;

test('counters and memory are added up; the worst of the states is shown', () => {
  const all = addUp([text(2, 1, 100, 0.1), text(3, 0, 50, 0.4)]);
  expect(all).toBe(
    text(5, 0, 150, 0.4).replace('shortlink_d_sum{route="/"} 0.5', 'shortlink_d_sum{route="/"} 1'),
  );
});

test('series that one process alone has', () => {
  const other = text(1, 1, 1, 1).replaceAll('route="/"', 'route="/b"');
  const all = addUp([text(2, 1, 1, 1), other]);
  expect(all).toContain('shortlink_x_total{route="/",status="200"} 2\n');
  expect(all).toContain('shortlink_x_total{route="/b",status="200"} 1\n');
  expect(all.match(/# TYPE shortlink_x_total/g)).toHaveLength(1);
});

test('of a process that has ended, only its counters stay', () => {
  const left = countersOf(text(2, 1, 100, 0.1));
  expect(left).toContain('shortlink_x_total{route="/",status="200"} 2\n');
  expect(left).toContain('shortlink_d_sum{route="/"} 0.5\n');
  expect(left).not.toContain('memory');
  expect(addUp([left, ''])).toBe(left);
});
