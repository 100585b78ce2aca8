import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { CLI_PROGRAM, SERVER_PROGRAM } from '../src/programs.ts';

/** Lets a program believe that it runs on this Node. */
const pretend = (version: string) => [
  '--import',
  `data:text/javascript,Object.defineProperty(process,'versions',{value:{node:'${version}'}})`,
];

/** A Node of this machine, found as a shell does, that is too old. */
const found = spawnSync('node', ['--version'], {
  encoding: 'utf8',
  env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
});

// A single-file program has its own Node.
describe.skipIf(!CLI_PROGRAM.endsWith('.js')).each([
  ['shortlink', CLI_PROGRAM, ['import', '--help']],
  ['shortlink-server', SERVER_PROGRAM, ['start', '--help']],
])('%s', (name, program, args) => {
  test.each(['12.22.0', '18.19.1', '20.20.2', '22.12.0'])('on Node %s', (version) => {
    const run = spawnSync(process.execPath, [...pretend(version), program, ...args], {
      encoding: 'utf8',
    });
    expect(run).toMatchObject({
      status: 1,
      stdout: '',
      stderr: `error: ${name} needs Node 22.13 or later, and this is Node ${version}.\n`,
    });
  });

  test.each(['22.13.0', '24.0.0', '30.1.0'])('on Node %s it runs', (version) => {
    const run = spawnSync(process.execPath, [...pretend(version), program, '--version'], {
      encoding: 'utf8',
    });
    expect(run).toMatchObject({ status: 0, stderr: '' });
  });

  test('the first file that is loaded imports no other one, and has no syntax of its own time', () => {
    const text = readFileSync(program, 'utf8');
    expect(text).not.toMatch(/^(?:import|export)\b[^(]/m);
    expect(text).not.toMatch(/\?\.|\?\?|^await |\bMap\.groupBy/m);
    const needed = /\[(\d+), (\d+)\]/.exec(text)?.slice(1).join('.');
    const path = new URL('../package.json', `file://${program}`);
    const { engines } = JSON.parse(readFileSync(path, 'utf8'));
    expect(engines.node).toBe(`>=${needed}`);
  });

  test('a real one', ({ skip }) => {
    const [, major] = /^v(\d+)/.exec(found.stdout ?? '') ?? [];
    if (major === undefined || Number(major) >= 22) skip('this machine has no older Node');
    const run = spawnSync('/usr/bin/env', ['node', program, ...args], {
      encoding: 'utf8',
      env: { PATH: '/usr/local/bin:/usr/bin:/bin' },
    });
    expect(run.stderr).toMatch(
      /^error: .* needs Node 22\.13 or later, and this is Node [\d.]+\.\n$/,
    );
    expect(run.status).toBe(1);
  });
});
