import { expect, test } from 'vitest';
import { readMadeFor, writeMadeFor } from './link-identity.ts';

test.each([0x12, 0x123456, 0x1234567, 0x12345678])(
  'what a link was made for is read where a spreadsheet has dropped the zeros before %i',
  (made) => {
    const cell = writeMadeFor(made);
    expect(readMadeFor(cell)).toBe(made);
    expect(readMadeFor(cell.replace(/^0+/, ''))).toBe(made);
  },
);

test.each(['', '1a', '123456789', 'x1234567'])(
  'a part of it, or more, says nothing: %j',
  (cell) => {
    expect(readMadeFor(cell)).toBeNull();
  },
);
