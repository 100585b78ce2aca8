import { describe, expect, it } from 'vitest';
import { MAX_WAIT_MS, minute, setUp } from '../../test/stopped-limiter.ts';

/** How many requests go out before one has to wait, and how long that one waits; no wait within the first hundred. */
async function burst({ ask }: ReturnType<typeof setUp>) {
  for (let sent = 0; sent < 100; sent += 1) {
    const turn = await ask();
    if (typeof turn === 'number') return { sent, waitMs: turn };
  }
  return { sent: 100, waitMs: 0 };
}

describe('a quota that grows', () => {
  it('is believed when the request was alone, such as after an upgrade of the plan', async () => {
    const limiter = setUp();
    await limiter.send(minute(3, 30_000));
    await limiter.send(minute(2, 30_000));
    await limiter.send(minute(20, 30_000));
    expect(await burst(limiter)).toEqual({ sent: 20, waitMs: 30_000 });
  });

  it('is not believed when another request was under way', async () => {
    const scene = setUp();
    await scene.send(minute(5, 30_000));
    const [first, second] = [await scene.take(), await scene.take()];
    scene.limiter.finish(first, { windows: [minute(4, 30_000)] });
    scene.limiter.finish(second, { windows: [minute(20, 30_000)] });
    expect(await burst(scene)).toEqual({ sent: 3, waitMs: 30_000 });
  });

  it('is not believed when another request was sent before the response', async () => {
    const scene = setUp();
    await scene.send(minute(5, 30_000));
    const [alone, next] = [await scene.take(), await scene.take()];
    scene.limiter.finish(next, { windows: [minute(3, 30_000)] });
    scene.limiter.finish(alone, { windows: [minute(20, 30_000)] });
    expect(await burst(scene)).toEqual({ sent: 3, waitMs: 30_000 });
  });
});

describe('a request that was never sent', () => {
  it('gives its part of the quota back', async () => {
    const scene = setUp();
    await scene.send(minute(5, 30_000));
    for (let n = 0; n < 20; n += 1) scene.limiter.finish(await scene.take(), { wasSent: false });
    expect(await burst(scene)).toEqual({ sent: 5, waitMs: 30_000 });
  });

  it('gives nothing to a window of which a response spoke meanwhile', async () => {
    const scene = setUp();
    await scene.send(minute(5, 30_000));
    const [unsent, sent] = [await scene.take(), await scene.take()];
    // The service has counted one request, and has heard of no other.
    scene.limiter.finish(sent, { windows: [minute(4, 30_000)] });
    scene.limiter.finish(unsent, { wasSent: false });
    expect((await burst(scene)).sent).toBeLessThanOrEqual(4);
  });

  it('gives nothing to the next window, and takes nothing off it', async () => {
    const scene = setUp();
    await scene.send(minute(5, 30_000, 10));
    const early = await scene.take();
    // From 29 s on the window may have ended.
    scene.clock.time += 29_500;
    scene.limiter.finish(await scene.take(), { wasSent: false });
    scene.clock.time += 500;
    expect(await scene.take()).toBeTypeOf('object');
    scene.limiter.finish(early, { wasSent: false });
    expect(await burst(scene)).toEqual({ sent: 9, waitMs: 60_000 });
  });
});

describe('the end of a window', () => {
  it('holds nothing back where the service says how large windows are, but not how long', async () => {
    const scene = setUp();
    await scene.send({ name: 'minute', remaining: 5, resetMs: 30_000, quota: 2 });
    // Sent when the window may have ended, and so perhaps in the next one.
    scene.clock.time += 29_500;
    await scene.take();
    await scene.take();
    scene.clock.time += 500;
    expect(await burst(scene)).toEqual({ sent: 100, waitMs: 0 });
  });

  it('is as late as any response says: each rounds up to a second', async () => {
    const scene = setUp();
    await scene.send(minute(5, 30_000));
    scene.clock.time += 400;
    await scene.send(minute(1, 30_000));
    // The first response says: within 30 s. The second one would allow 30.4 s.
    expect(await burst(scene)).toEqual({ sent: 1, waitMs: 29_600 });
  });

  it('takes off the next window what was sent when it may have begun', async () => {
    const scene = setUp();
    await scene.send(minute(5, 30_000, 10));
    // The service rounds up to seconds, so that the window may end from 29 s on.
    scene.clock.time += 29_500;
    await scene.take();
    await scene.take();
    scene.clock.time += 500;
    expect(await burst(scene)).toEqual({ sent: 8, waitMs: 60_000 });
  });

  it('takes it off the next window also when a response still tells of this one', async () => {
    const scene = setUp();
    await scene.send(minute(5, 30_000, 10));
    scene.clock.time += 29_500;
    const turn = await scene.take();
    await scene.take();
    scene.limiter.finish(turn, { windows: [minute(4, 1_000, 10)] });
    scene.clock.time += 500;
    expect(await burst(scene)).toEqual({ sent: 8, waitMs: 60_000 });
  });

  it('is not before any response allows it', async () => {
    const scene = setUp();
    await scene.send(minute(5, 30_000, 10));
    scene.clock.time += 400;
    await scene.send(minute(4, 29_000, 10));
    // The first response says: after 29 s at the earliest. The second one would allow 28.4 s.
    scene.clock.time += 28_300;
    await scene.take();
    scene.clock.time += 700;
    expect(await burst(scene)).toEqual({ sent: 10, waitMs: 60_000 });
  });

  it('takes nothing off the next window when it can not have begun', async () => {
    const scene = setUp();
    await scene.send(minute(5, 30_000, 10));
    scene.clock.time += 29_000;
    await scene.take();
    scene.clock.time += 1_000;
    expect(await burst(scene)).toEqual({ sent: 10, waitMs: 60_000 });
  });

  it.each([
    [undefined, 60_000],
    [10, undefined],
  ])(
    'is the end of all that is known where the size is %s and the length %s',
    async (quota, windowMs) => {
      const scene = setUp();
      await scene.send({ name: 'minute', remaining: 0, resetMs: 30_000, quota, windowMs });
      scene.clock.time += 30_000;
      expect(await burst(scene)).toEqual({ sent: 100, waitMs: 0 });
    },
  );

  it('is not the next one when a whole window has passed', async () => {
    const scene = setUp();
    await scene.send(minute(0, 30_000, 10));
    scene.clock.time += 89_999;
    expect((await burst(scene)).sent).toBe(10);
    const other = setUp();
    await other.send(minute(0, 30_000, 10));
    other.clock.time += 90_000;
    expect((await burst(other)).sent).toBe(100);
  });

  it('is followed by the next one also where the response came at the very beginning of this one', async () => {
    const scene = setUp();
    await scene.send(minute(0, 60_000, 10));
    scene.clock.time += 60_000;
    expect(await burst(scene)).toEqual({ sent: 10, waitMs: 60_000 });
  });

  it('a window that was forgotten starts anew with the next response', async () => {
    const scene = setUp();
    await scene.send(minute(0, 10_000));
    scene.clock.time += 10_000;
    const [first] = [await scene.take(), await scene.take()];
    scene.limiter.finish(first, { windows: [minute(4, 60_000)] });
    expect(await burst(scene)).toEqual({ sent: 3, waitMs: 60_000 });
  });
});

describe('a wait for a quota', () => {
  it('of just the longest time is waited for and reported', async () => {
    const { ask, pauses, send } = setUp();
    await send(minute(0, MAX_WAIT_MS));
    expect(await ask()).toBe(MAX_WAIT_MS);
    expect(pauses).toEqual([{ waitMs: MAX_WAIT_MS, retryAfterMs: undefined }]);
  });

  it('is reported once, though its end may be known a little later', async () => {
    const { ask, clock, pause, pauses, send } = setUp();
    await send(minute(0, 10_000));
    await ask();
    clock.time += 0.5;
    pause(10_000, 10_000);
    expect(pauses).toHaveLength(1);
    pause(10_002, 10_002);
    expect(pauses).toHaveLength(2);
  });

  it('that is trusted no more is not made for a window that ends soon either', async () => {
    const { clock, ask, send } = setUp();
    await send(minute(0, MAX_WAIT_MS + 30_000));
    // Known for longer than the longest wait, and soon over: that is worth the rest of the wait.
    clock.time += MAX_WAIT_MS + 10_000;
    expect(await ask()).toBe(20_000);
  });
});

describe('a quota that is learned from a 429', () => {
  /** Two requests of a window of 10 s that got through, and one that did not. */
  async function learn() {
    const scene = setUp();
    const early = await scene.take();
    for (const status of [201, 201, 429]) {
      scene.limiter.finish(await scene.take(), { status, retryAfterMs: 10_000 });
    }
    return { ...scene, early };
  }

  it('is that of one window, however many have passed since', async () => {
    const scene = await learn();
    scene.clock.time += 10_000;
    expect(await burst(scene)).toEqual({ sent: 3, waitMs: 10_000 });
    scene.clock.time += 35_000;
    expect(await burst(scene)).toEqual({ sent: 3, waitMs: 5_000 });
  });

  it('is not used up by a 429 that belongs to the window before', async () => {
    const { early, ...scene } = await learn();
    scene.clock.time += 10_000;
    await scene.take();
    scene.limiter.finish(early, { status: 429, retryAfterMs: 10_000 });
    expect(await burst(scene)).toEqual({ sent: 2, waitMs: 10_000 });
  });

  it('holds back no request that counts against no quota', async () => {
    const { limiter, onPause, ask } = await learn();
    expect(await ask()).toBe(10_000);
    const turn = { failsAtLimit: false, ignoresQuota: true, maxRetryAfterMs: MAX_WAIT_MS, onPause };
    expect(await limiter.turn(turn)).toBeTypeOf('object');
  });

  it('counts only while the service states none', async () => {
    const scene = await learn();
    const held = await scene.ask();
    scene.clock.time += 10_000;
    await scene.send(minute(50, 10_000));
    expect([held, (await burst(scene)).sent]).toEqual([10_000, 50]);
    scene.clock.time += 10_000;
    scene.limiter.finish(await scene.take(), { status: 429, retryAfterMs: 10_000 });
    expect(await scene.ask()).toBe(10_000);
  });
});
