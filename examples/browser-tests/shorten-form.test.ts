// Vitest's browser mode: the component in a real browser, and the service in the same page.
import { expect, test } from 'vitest';
import { page } from 'vitest/browser';
import { PlanIsFull, RateLimited, Working } from './shorten-form.stories.ts';

const STORIES = [
  { name: 'a link', story: Working, shows: /^https:\/\/shortlink\.test\/\w{7}$/ },
  { name: 'that the plan is full', story: PlanIsFull, shows: /0 used, 0 allowed/ },
  { name: 'a link after a 429', story: RateLimited, shows: /^https:\/\/shortlink\.test\/\w{7}$/ },
];

test.each(STORIES)('the form shows $name', async ({ story, shows }) => {
  const [load] = story.loaders;
  const loaded = await load?.();
  if (loaded === undefined) throw new Error('The story starts no service.');
  document.body.replaceChildren(story.render({}, { loaded }));
  await page.getByLabelText('URL').fill('https://example.com/docs');
  await page.getByRole('button').click();
  const output = page.getByRole('status');
  await expect.poll(() => output.element().textContent, { timeout: 10_000 }).toMatch(shows);
});
