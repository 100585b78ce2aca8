import { expect, test } from 'vitest';
import { testIo } from '../../test/test-io.ts';
import { Printer } from './printer.ts';

const SECRET = 'sl_"quoted"\\key';

function printer(options: Partial<Printer['options']> = {}) {
  const { io, stdout, stderr } = testIo();
  const made = new Printer(io, { json: false, quiet: false, color: undefined, ...options });
  made.hide(SECRET);
  return { made, stdout, stderr };
}

test('a secret is hidden in every kind of output, also as JSON writes it', () => {
  const { made, stdout, stderr } = printer();
  made.data(`a ${SECRET}`);
  made.json({ SECRET });
  made.note(SECRET);
  made.warn(SECRET);
  made.log('debug', SECRET);
  made.drawing(SECRET);
  made.error({ code: 'x', message: SECRET, hint: SECRET, exitCode: 1 });
  const printed = stdout() + stderr();
  expect(printed).not.toContain('quoted');
  expect(printed.match(/\*{4}/g)).toHaveLength(8);
});

test('and in errors as JSON', () => {
  const { made, stderr } = printer({ json: true });
  made.error({ code: 'x', message: SECRET, exitCode: 1 });
  expect(JSON.parse(stderr())).toEqual({
    event: 'error',
    version: 1,
    error: { code: 'x', message: '****', exit_code: 1 },
  });
});

test('what is too short for a secret is left alone', () => {
  const { made, stdout } = printer();
  made.hide('a');
  made.hide('');
  made.data('a banana');
  expect(stdout()).toBe('a banana\n');
});

test('--quiet leaves notes and drawings out, not warnings and errors', () => {
  const { made, stderr } = printer({ quiet: true });
  made.note('note');
  made.drawing('drawing');
  made.warn('look');
  made.error({ code: 'x', message: 'bad', hint: 'do\nthis', exitCode: 1 });
  expect(stderr()).toBe('warning: look\nerror: bad\n  do\n  this\n');
});
