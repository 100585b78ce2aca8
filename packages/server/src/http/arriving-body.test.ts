import { expect, test } from 'vitest';
import { ArrivingBody, BodyMemory } from './arriving-body.ts';

const KIB = 1_024;
const MIB = 1_024 * KIB;

/** A body that grows to so many bytes when it is told to. */
function bodyOf(memory: BodyMemory, accountId: string) {
  const body = new ArrivingBody({ memory, accountId, maxBytes: 16 * MIB, statedBytes: Number.NaN });
  return {
    body,
    growTo: (bytes: number) => body.add(Buffer.alloc(bytes - body.bytes.length, ' ')),
  };
}

test('the bodies of all accounts together hold at most 128 MiB, and small ones count nowhere', () => {
  const memory = new BodyMemory();
  const held = Array.from({ length: 8 }, (_, n) => {
    const { body, growTo } = bodyOf(memory, `account ${n}`);
    growTo(16 * MIB);
    return body;
  });
  const ninth = bodyOf(memory, 'account 9');
  ninth.growTo(256 * KIB);
  expect(ninth.body.counted).toBe(0);
  expect(() => ninth.growTo(257 * KIB)).toThrow('busy with other large requests');
  held[0]?.release();
  ninth.growTo(16 * MIB);
  expect(ninth.body.counted).toBe(16 * MIB);
});

test('a body that gets no more memory gives back what it has, so that another one of its account can grow', () => {
  const memory = new BodyMemory();
  const [first, second] = [bodyOf(memory, 'account'), bodyOf(memory, 'account')];
  first.growTo(8 * MIB);
  second.growTo(8 * MIB);
  expect(() => first.growTo(9 * MIB)).toThrow('busy with other large requests');
  second.growTo(16 * MIB);
  expect(() => bodyOf(memory, 'account').growTo(MIB)).toThrow('busy with other large requests');
  second.body.release();
  second.body.release();
  expect(second.body.bytes).toHaveLength(0);
  bodyOf(memory, 'account').growTo(16 * MIB);
});

test.each([Number.NaN, 300 * KIB])(
  'the bytes are those of the pieces; %d are stated',
  (statedBytes) => {
    const options = { accountId: 'a', maxBytes: 300 * KIB, statedBytes };
    const body = new ArrivingBody({ memory: new BodyMemory(), ...options });
    const whole = Buffer.from(Array.from({ length: 300 * KIB }, (_, n) => 0x20 + (n % 2)));
    for (let at = 0; at < whole.length; at += 7_777) body.add(whole.subarray(at, at + 7_777));
    expect(whole.equals(body.bytes)).toBe(true);
  },
);

test('bytes above 64 KiB are in a buffer of their own, since a thread gets it', () => {
  for (const size of [64 * KIB, 64 * KIB + 1]) {
    const options = { accountId: 'a', maxBytes: MIB, statedBytes: size };
    const body = new ArrivingBody({ memory: new BodyMemory(), ...options });
    const piece = Buffer.alloc(size, ' ');
    body.add(piece);
    expect(body.bytes.buffer === piece.buffer).toBe(size === 64 * KIB);
  }
});

test('a body comes in a million pieces at most, since each takes time', () => {
  const { body } = bodyOf(new BodyMemory(), 'account');
  const piece = Buffer.alloc(1);
  for (let pieces = 0; pieces < 1_000_000; pieces += 1) body.add(piece);
  expect(() => body.add(piece)).toThrow('more than 1000000 pieces');
});
