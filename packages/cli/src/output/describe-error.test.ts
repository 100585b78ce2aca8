import { BadRequestError } from '@shortlink/sdk';
import { expect, test } from 'vitest';
import { describeError } from './describe-error.ts';

test("what the server says is quoted as it is, also where it looks like a pattern of JavaScript's replace", async () => {
  const said = "title: $& and $' are not allowed, %s neither";
  const error = new BadRequestError({ message: said, status: 400, headers: new Headers() });
  expect((await describeError(error)).message).toBe(`The server refused the request: ${said}`);
});

test.each([
  ['ENOENT', 2],
  ['EACCES', 1],
])(
  'an error of the system, %s of a path, ends with %i and names the path',
  async (code, exitCode) => {
    const error = Object.assign(new Error('x'), { code, syscall: 'open', path: '/none' });
    const { message, ...report } = await describeError(error);
    expect(report).toMatchObject({ code: 'system', exitCode });
    expect(message).toMatch(/^Can't use \/none: /);
  },
);
