import { beforeEach, expect, test } from 'vitest';
import { BATCH, Fixture, LINKS } from './fixture.ts';

let app: Fixture;
let key: string;
beforeEach(async () => {
  app = await Fixture.open({ targetHosts: { allow: ['example.com'], deny: ['old.example.com'] } });
  key = await app.caller();
});

test('a host that the operator allows can be linked to', async () => {
  const target_url = 'https://docs.example.com/';
  expect((await app.post(key, LINKS, { target_url })).status).toBe(201);
  expect((await app.post(key, BATCH, { links: [{ target_url }] })).status).toBe(200);
});

test.each(['https://example.org/', 'https://old.example.com/', 'https://OLD.example.com.:8443/x'])(
  '%s is 400, alone and in a batch',
  async (target_url) => {
    const message = 'target_url must not point to a host that this service does not allow';
    const single = await app.post(key, LINKS, { target_url });
    expect(single.status).toBe(400);
    expect(single.json.details).toEqual([{ field: 'target_url', message }]);
    const batch = await app.post(key, BATCH, { links: [{ target_url }] });
    expect(batch.json.details).toEqual([{ index: 0, field: 'target_url', message }]);
    expect(await app.linksUsed(key)).toBe(0);
  },
);
