import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../test/fake-clock.ts';
import { Cooldown } from './cooldown.ts';

describe('Cooldown', () => {
  it('is none at first', () => {
    expect(new Cooldown(new FakeClock()).leftMs()).toBeLessThanOrEqual(0);
  });

  it('lasts as long as it was asked to', async () => {
    const clock = new FakeClock();
    const cooldown = new Cooldown(clock);
    expect(cooldown.extend(1000)).toBe(true);
    await clock.advance(999);
    expect(cooldown.leftMs()).toBe(1);
    await clock.advance(1);
    expect(cooldown.leftMs()).toBe(0);
  });

  it('is never made shorter', () => {
    const cooldown = new Cooldown(new FakeClock());
    cooldown.extend(1000);
    expect(cooldown.extend(400)).toBe(false);
    expect(cooldown.leftMs()).toBe(1000);
  });

  it('is made longer', () => {
    const cooldown = new Cooldown(new FakeClock());
    cooldown.extend(1000);
    expect(cooldown.extend(1400)).toBe(true);
    expect(cooldown.leftMs()).toBe(1400);
  });
});
