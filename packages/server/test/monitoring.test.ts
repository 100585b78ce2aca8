import { readFile } from 'node:fs/promises';
import { parser } from '@prometheus-io/lezer-promql';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { Metrics } from '../src/metrics/metrics.ts';
import { startTestServer } from '../src/testing/index.ts';

const read = (path: string) =>
  readFile(new URL(`../deploy/monitoring/${path}`, import.meta.url), 'utf8');

interface Rule {
  alert: string;
  expr: string;
  annotations: { summary: string; description: string };
}

/** What Prometheus adds to each series by itself. */
const ADDED_LABELS = ['job', 'instance'];

let queries: { name: string; query: string }[];
let rules: Rule[];
/** Every metric of a server that was used, with the names of its labels. */
let series: Map<string, Set<string>>;

beforeAll(async () => {
  rules = parse(await read('alerts.yml')).groups.flatMap((group: { rules: Rule[] }) => group.rules);
  const { panels } = JSON.parse(await read('grafana-dashboard.json'));
  queries = [
    ...rules.map(({ alert, expr }) => ({ name: alert, query: expr })),
    ...panels.flatMap(({ title, targets }: { title: string; targets: { expr: string }[] }) =>
      targets.map(({ expr }) => ({
        name: title,
        query: expr.replaceAll('$__rate_interval', '5m'),
      })),
    ),
  ];
  const metrics = new Metrics();
  metrics.watchProcess();
  metrics.watchStore({ isHealthy: () => true }, () => 0);
  metrics.countRequest({ route: '/:code', method: 'GET', status: 302, seconds: 0.001 });
  metrics.countRedirect(302, false);
  metrics.countRedirect(302, true);
  metrics.count('links_created', 'by="job"');
  metrics.count('refusals', 'code="rate_limited"');
  metrics.count('store_errors', 'reason="unavailable"');
  series = seriesOf(await metrics.text());
});

/** Metrics in the text that Prometheus reads, with the names of their labels. */
function seriesOf(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, name = '', labels = ''] of text.matchAll(/^([a-z_]\w*)(?:\{(.*)\})? /gm)) {
    const names = found.get(name) ?? new Set();
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) names.add(label);
    found.set(name, names);
  }
  return found;
}

/** The pieces of a query of these kinds, and where it can't be parsed. */
function look(query: string): { mistakes: number; metrics: string[]; labels: string[] } {
  const found = { mistakes: 0, metrics: [] as string[], labels: [] as string[] };
  parser.parse(query).iterate({
    enter({ name, type, from, to }) {
      const text = query.slice(from, to);
      if (type.isError) found.mistakes += 1;
      if (name === 'Identifier' && !text.startsWith('{')) found.metrics.push(text);
      if (name === 'LabelName') found.labels.push(text);
    },
  });
  return found;
}

test('every query can be parsed', () => {
  expect(queries.length).toBeGreaterThan(15);
  expect(queries.filter(({ query }) => look(query).mistakes > 0)).toEqual([]);
  expect(look('sum(rate(shortlink_redirects_total[5m])').mistakes).toBeGreaterThan(0);
});

test('every metric and label in them is one that the server sends', () => {
  const known = new Set([...series.keys(), 'up']);
  const labels = new Set([...ADDED_LABELS, ...[...series.values()].flatMap((names) => [...names])]);
  for (const { name, query } of queries) {
    const found = look(query);
    expect(found.metrics.length, name).toBeGreaterThan(0);
    expect([name, found.metrics.filter((metric) => !known.has(metric))]).toEqual([name, []]);
    expect([name, found.labels.filter((label) => !labels.has(label))]).toEqual([name, []]);
  }
});

test('every alert says what it means, and no name is there twice', () => {
  for (const { alert, annotations } of rules) {
    expect([alert, Object.keys(annotations)]).toEqual([alert, ['summary', 'description']]);
  }
  expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
});

test('the dashboard shows every metric of the service', async () => {
  const dashboard = await read('grafana-dashboard.json');
  const own = [...series.keys()].filter((name) => /^shortlink_(?!.*_(sum|count)$)/.test(name));
  expect(own.length).toBeGreaterThan(8);
  expect(own.filter((name) => !dashboard.includes(name))).toEqual([]);
});

test('the scrape block asks where a server answers', async () => {
  const [job] = parse(await read('prometheus.yml')).scrape_configs;
  expect(job.job_name).toBe('shortlink');
  await using server = await startTestServer();
  // Prometheus asks for /metrics where nothing else is said.
  const response = await fetch(`${server.url}${job.metrics_path ?? '/metrics'}`);
  expect(response.status).toBe(200);
});
