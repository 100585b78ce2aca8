// Shortens the URLs of standard input, one per line, while they arrive: bun shorten-lines.ts < urls.txt > short.tsv
//
// Needs SHORTLINK_API_KEY and SHORTLINK_BASE_URL. Memory stays flat however many lines there are.
import { Shortlink } from '@shortlink/sdk';

/** Bun's console iterates over the lines of standard input. */
async function* urls() {
  for await (const line of console) {
    if (line.trim() !== '') yield { target_url: line.trim() };
  }
}

let others = 0;
for await (const item of new Shortlink().links.createMany(urls())) {
  const url = item.input.target_url;
  if (item.outcome === 'created') console.log(`${url}\t${item.short_url}`);
  else {
    others += 1;
    console.error(`line ${item.index + 1}: ${url}: ${item.outcome}: ${item.error}`);
  }
}
if (others > 0) process.exitCode = 1;
