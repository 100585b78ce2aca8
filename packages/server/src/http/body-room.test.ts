import { expect, test } from 'vitest';
import { BodyRoom } from './body-room.ts';

const KIB = 1_024;
const MIB = 1_024 * KIB;

test('the bodies of all accounts together hold at most 128 MiB, and small ones need no room', () => {
  const room = new BodyRoom();
  const held = Array.from({ length: 8 }, (_, n) => {
    const reservation = room.reserve(`account ${n}`);
    reservation.growTo(16 * MIB);
    return reservation;
  });
  const ninth = room.reserve('account 9');
  ninth.growTo(256 * KIB);
  expect(() => ninth.growTo(257 * KIB)).toThrow('busy with other large requests');
  held[0]?.release();
  ninth.growTo(16 * MIB);
});

test('a body that gets no more room gives back what it has, so that another one of its account can grow', () => {
  const room = new BodyRoom();
  const [first, second] = [room.reserve('account'), room.reserve('account')];
  first.growTo(8 * MIB);
  second.growTo(8 * MIB);
  expect(() => first.growTo(9 * MIB)).toThrow('busy with other large requests');
  second.growTo(16 * MIB);
  expect(() => first.growTo(MIB)).toThrow('busy with other large requests');
  second.release();
  first.growTo(16 * MIB);
});

test('large bodies are checked one after the other, whatever became of the one before; small ones at once', async () => {
  const room = new BodyRoom();
  const [first, second, small] = ['1', '2', '3'].map((account) => room.reserve(account));
  first?.growTo(MIB);
  second?.growTo(MIB);
  const steps: string[] = [];
  const failing = first?.inTurn(async () => {
    await Promise.resolve();
    steps.push('first');
    throw new Error('not JSON');
  });
  const next = second?.inTurn(async () => steps.push('second'));
  await small?.inTurn(async () => steps.push('small'));
  await expect(failing).rejects.toThrow('not JSON');
  await next;
  expect(steps).toEqual(['small', 'first', 'second']);
});
