// Creates a short link for every page of a site, for a CI job: node create-links.mjs pages.json short-links.json
//
// pages.json is [{ "url", "title" }, …]; short-links.json becomes { "<url>": "<short URL>", … }. The job fails unless every
// link was created. It needs SHORTLINK_API_KEY and SHORTLINK_BASE_URL.
import { readFile, writeFile } from 'node:fs/promises';
import { Shortlink } from '@shortlink/sdk';

const [input = 'pages.json', output = 'short-links.json'] = process.argv.slice(2);
const pages = JSON.parse(await readFile(input, 'utf8'));

const shortlink = new Shortlink({
  requestsPerMinute: Number(process.env.REQUESTS_PER_MINUTE ?? 60),
  hooks: {
    onCooldown: ({ waitMs }) =>
      console.error(`rate limited, waiting ${Math.ceil(waitMs / 1000)} s`),
  },
});
const links = pages.map(({ url, title }) => ({ target_url: url, title, tags: ['site'] }));

const shortUrls = {};
let problems = 0;
try {
  for await (const item of shortlink.links.createMany(links)) {
    if (item.outcome === 'created') shortUrls[item.input.target_url] = item.short_url;
    else {
      problems += 1;
      console.error(`${item.outcome}: ${item.input.target_url}: ${item.error}`);
    }
  }
} finally {
  // Write the links that exist, also when the run failed.
  await writeFile(output, `${JSON.stringify(shortUrls, null, 2)}\n`);
}
console.error(`${Object.keys(shortUrls).length} of ${pages.length} links created, see ${output}`);
if (problems > 0) process.exitCode = 1;
