import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const SRC = fileURLToPath(new URL('../src/', import.meta.url));

/** Prints the files of the package that have a function which `links.create` calls. */
const TRACE = `
  import { Session } from 'node:inspector/promises';
  const { Shortlink } = await import(${JSON.stringify(new URL('../src/index.ts', import.meta.url).href)});
  const body = JSON.stringify({ code: 'c', short_url: 'https://s.example/c' });
  const fetch = async () => new Response(body, { status: 201 });
  const client = new Shortlink({ apiKey: 'sk_1', baseUrl: 'https://s.example', fetch });
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await client.links.create({ target_url: 'https://example.com/' });
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const isCalled = ({ functionName, ranges }) => functionName !== '' && ranges[0].count > 0;
  const called = result.filter(({ functions }) => functions.some(isCalled)).map(({ url }) => url);
  console.log(JSON.stringify(called.filter((url) => url.includes('/sdk/src/'))));
`;

it('one call of links.create is followed through at most 14 files', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--input-type=module',
    '--eval',
    TRACE,
  ]);
  const files: string[] = JSON.parse(stdout);
  const names = files.map((file) => file.replace(/.*\/src\//, ''));
  expect(names).toContain('resources/links.ts');
  expect(names).toContain('http/send.ts');
  expect(names.length, names.join(', ')).toBeLessThanOrEqual(14);
});

it('the source loads nothing later, and refers to no document that users do not have', async () => {
  const paths = await readdir(SRC, { recursive: true });
  const sources = paths.filter((path) => /(?<!\.test)(?<!\.test-d)\.ts$/.test(path));
  expect(sources.length).toBeGreaterThan(30);
  for (const path of sources) {
    const text = await readFile(SRC + path, 'utf8');
    expect(text, path).not.toMatch(/\bimport\s*\(|DESIGN|spec(ification)? (rule|section)/i);
  }
});
