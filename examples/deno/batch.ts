// Creates a batch that is large enough to become a job, and follows the job:
//
//   deno run --allow-net --allow-env batch.ts 500
//
// Needs SHORTLINK_API_KEY and SHORTLINK_BASE_URL. Outside this workspace, import 'npm:@shortlink/sdk' instead.
import { Shortlink } from '@shortlink/sdk';

const count = Number(Deno.args[0] ?? 500);
const shortlink = new Shortlink();

const batch = await shortlink.links.createBatch({
  links: Array.from({ length: count }, (_, n) => ({ target_url: `https://example.com/${n}` })),
});
const { results } =
  batch.status === 'completed'
    ? batch
    : await shortlink.jobs.wait(batch.job_id, {
        total: batch.total,
        onProgress: ({ processed, total }) => console.error(`${processed} of ${total}`),
      });
console.log(`${results.length} links, the first is ${results[0]?.short_url}`);
