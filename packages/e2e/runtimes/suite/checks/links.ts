import { assert } from 'chai';
import type { Check } from '../check.ts';

export const linkChecks: readonly Check[] = [
  {
    name: 'creates a link with every field',
    async run(stage) {
      const server = await stage.startServer();
      const input = {
        target_url: 'https://example.com/docs?q=a%20b#part',
        title: 'Zürich · 東京 · 🚀',
        redirect_type: 307,
        tags: ['docs', 'ünï'],
      } as const;
      const link = await server.client().links.create(input);
      assert.containSubset(link, { ...input, is_active: true, click_count: 0 });
      assert.equal(link.short_url, `${server.baseUrl}/${link.code}`);
      assert.match(link.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.isNotEmpty(link.id);
    },
  },
  {
    name: 'fills in the defaults of a link',
    async run(stage) {
      const server = await stage.startServer();
      const link = await server.client().links.create({ target_url: 'https://example.com/' });
      assert.containSubset(link, { title: '', redirect_type: 302, tags: [] });
    },
  },
  {
    name: 'shows the usage of the account',
    async run(stage) {
      const server = await stage.startServer({ plan: 'pro' });
      const shortlink = server.client();
      await shortlink.links.create({ target_url: 'https://example.com/' });
      const usage = await shortlink.usage.retrieve();
      assert.equal(usage.plan, 'pro');
      assert.deepEqual({ ...usage.links }, { used: 1, limit: 1_000 });
      assert.containSubset(usage.requests.minute, { used: 1, limit: 60 });
    },
  },
];
