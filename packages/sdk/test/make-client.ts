import { resolveOptions } from '../src/client.ts';
import { Limiter } from '../src/http/limiter.ts';
import type { Clock } from '../src/http/time.ts';
import { HttpTransport } from '../src/http/transport.ts';
import type { ShortlinkOptions } from '../src/options.ts';
import { Jobs } from '../src/resources/jobs.ts';
import { Links } from '../src/resources/links.ts';
import { KnownJobs } from '../src/resources/poll-timing.ts';
import { UsageResource } from '../src/resources/usage.ts';
import { InstantClock } from './fake-clock.ts';

/** Odd enough to be found wherever it leaks. */
export const API_KEY = 'sk_live_SECRET-0123456789';
export const BASE_URL = 'https://go.example.com';

/** The resources on a transport whose clock and chance the test holds. `random` 1 gives each backoff its ceiling. */
export function makeClient(
  options: ShortlinkOptions = {},
  { clock = new InstantClock(), random = () => 1 }: { clock?: Clock; random?: () => number } = {},
) {
  const settings = resolveOptions({ apiKey: API_KEY, baseUrl: BASE_URL, ...options });
  const limiter = new Limiter(settings.requestsPerMinute, clock);
  const known = new KnownJobs();
  const shared = { ...settings, limiter, known, clock, random };
  const transport = new HttpTransport(shared);
  const parts = { ...shared, transport };
  const jobs = new Jobs(parts);
  return { transport, links: new Links(parts, jobs), jobs, usage: new UsageResource(parts), known };
}
