// Shortens the URLs given as arguments, and prints each short URL.
//
//   export SHORTLINK_API_KEY=… SHORTLINK_BASE_URL=https://go.example.com
//   node shorten.mjs https://example.com/docs https://example.com/blog
import {
  isOutcomeUnknown,
  PlanLimitError,
  RateLimitError,
  Shortlink,
  ShortlinkError,
} from '@shortlink/sdk';

const urls = process.argv.slice(2);
if (urls.length === 0) {
  console.error('Which URLs? For example: node shorten.mjs https://example.com/docs');
  process.exit(2);
}

try {
  const shortlink = new Shortlink();
  for (const target_url of urls) {
    const link = await shortlink.links.create({ target_url, tags: ['example'] });
    console.log(`${link.short_url} -> ${link.target_url}`);
  }
} catch (error) {
  // Anything else is a mistake in this program.
  if (!ShortlinkError.isInstance(error)) throw error;
  console.error(adviceFor(error));
  process.exitCode = 1;
}

function adviceFor(error) {
  if (PlanLimitError.isInstance(error))
    return `${error.message} (${error.used} of ${error.allowed})`;
  if (RateLimitError.isInstance(error))
    return `Come back in ${Math.ceil((error.retryAfterMs ?? 0) / 1000)} s.`;
  if (isOutcomeUnknown(error)) return `The link may exist all the same: ${error.message}`;
  return error.message;
}
