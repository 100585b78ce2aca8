import {
  demand,
  type Exchange,
  Fails,
  fieldsOf,
  NotShown,
  objectsIn,
  type Statement,
  show,
} from '../statement.ts';
import {
  acceptedJob,
  BATCH,
  createBatch,
  demandItems,
  demandStatus,
  hundredBatch,
  JOBS,
  jobPolls,
  LOOKUP,
  refused,
  sendTooMany,
  smallBatch,
  TAGS,
  TITLE,
  targets,
  UNKNOWN_JOB,
  UUID,
} from './facts.ts';

const statusOf = (exchange: Exchange) => fieldsOf(exchange)['status'];

/** Demands a count that a batch or job states. */
function demandCount(exchange: Exchange, name: string, wanted: number): void {
  const value = fieldsOf(exchange)[name];
  demand(value === wanted, `${name} is ${show(value)}, not ${wanted}`, exchange);
}

/** Host of the short URL that a target got in a batch, whose results may be in any order. */
function hostOf(batch: Exchange, target: string): string {
  const results = objectsIn(fieldsOf(batch), 'results');
  const shortUrl = results.find(({ target_url }) => target_url === target)?.['short_url'];
  const host = URL.parse(String(shortUrl))?.host;
  demand(host !== undefined, `no result has a short URL for ${target}`, batch);
  return host;
}

export const shapeStatements: Statement[] = [
  {
    id: 'batch-items',
    section: 'Batches and jobs',
    text: 'An item of `results` has `target_url`, `code`, `short_url`.',
    check: async (session) => {
      const batch = await smallBatch(session);
      const sent = ['batch-1', 'batch-2'].map((name) => ({ target_url: session.target(name) }));
      demandItems(batch, sent);
      return [batch];
    },
  },
  {
    id: 'job-id',
    section: 'Batches and jobs',
    text: '`job_id` is a UUID.',
    check: async (session) => {
      const job = await acceptedJob(session);
      const { job_id } = fieldsOf(job);
      demand(UUID.test(String(job_id)), `job_id is ${show(job_id)}`, job);
      return [job];
    },
  },
  {
    id: 'poll-fields',
    section: 'Batches and jobs',
    text: 'A poll shows `id` (the same job), `status`, `total`, `processed` and `results`.',
    check: async (session) => {
      const polls = await jobPolls(session);
      const { job_id } = fieldsOf(await acceptedJob(session));
      for (const poll of polls) {
        const { id, status, processed, results } = fieldsOf(poll);
        demand(id === job_id, `id is ${show(id)}, not the job_id ${show(job_id)}`, poll);
        demand(typeof status === 'string', `status is ${show(status)}`, poll);
        demandCount(poll, 'total', 101);
        const isCount =
          Number.isInteger(processed) && Number(processed) >= 0 && Number(processed) <= 101;
        demand(isCount, `processed is ${show(processed)}`, poll);
        demand(Array.isArray(results), `results is ${show(results)}`, poll);
      }
      return polls.slice(-1);
    },
  },
  {
    id: 'job-states',
    section: 'Batches and jobs',
    text: 'A job is `processing` when accepted, then `completed`.',
    check: async (session) => {
      const [accepted, polls] = [await acceptedJob(session), await jobPolls(session)];
      demand(
        statusOf(accepted) === 'processing',
        `it is ${show(statusOf(accepted))} when accepted`,
        accepted,
      );
      const last = polls.at(-1) ?? accepted;
      demand(statusOf(last) === 'completed', `it ends as ${show(statusOf(last))}`, last);
      return [accepted, last];
    },
  },
  {
    id: 'batch-status',
    section: 'Batches and jobs',
    text: 'The response to a synchronous batch has `status` = `completed`.',
    check: async (session) => {
      const batch = await smallBatch(session);
      demand(statusOf(batch) === 'completed', `status is ${show(statusOf(batch))}`, batch);
      return [batch];
    },
  },
];

export const batchStatements: Statement[] = [
  {
    id: 'links-required',
    section: 'POST /api/v1/links/batch',
    text: '`links` is required.',
    check: async (session) => [
      refused(await session.send('POST', BATCH, { body: {} }), 'a batch without links'),
    ],
  },
  {
    id: 'batch-target-required',
    section: 'POST /api/v1/links/batch',
    text: '`links[].target_url` is required.',
    check: async (session) => {
      const links = [{ title: 'an entry without a target' }];
      const batch = await session.send('POST', BATCH, { body: { links }, links: 1 });
      return [refused(batch, 'an entry without target_url')];
    },
  },
  {
    id: 'batch-text-kept',
    section: 'POST /api/v1/links/batch',
    text: '`links[].title` and `links[].tags` are optional and kept.',
    check: async (session) => {
      const batch = await smallBatch(session);
      if (!session.features.includes('lookup')) {
        throw new NotShown('that they are kept needs a service that shows a link again', [batch]);
      }
      const codes = objectsIn(fieldsOf(batch), 'results').map(({ code }) => code);
      const found = await session.send('POST', LOOKUP, { body: { codes } });
      const links = objectsIn(fieldsOf(found), 'results').flatMap((result) =>
        objectsIn(result, 'links'),
      );
      const kept = links.map(({ target_url, title, tags }) => [target_url, title, tags]);
      const first = kept.find(([target]) => target === session.target('batch-1'));
      const wanted = [TITLE, TAGS];
      demand(
        JSON.stringify(first?.slice(1)) === JSON.stringify(wanted),
        `kept is ${show(first)}`,
        batch,
        found,
      );
      return [batch, found];
    },
  },
  {
    id: 'batch-domain',
    section: 'POST /api/v1/links/batch',
    text: '`domain_id` is the default of all links, `links[].domain_id` overrides it.',
    check: async (session) => {
      const [first, second] = session.options.domainIds ?? [];
      if (first === undefined || second === undefined) {
        throw new NotShown('needs two custom domains: --domain-id, twice');
      }
      const [one, other] = [session.target('domains-0'), session.target('domains-1')];
      const links = [{ target_url: one }, { target_url: other, domain_id: second }];
      const batch = await createBatch(session, links, { domain_id: first });
      const alone = await createBatch(session, [{ target_url: one, domain_id: first }]);
      const byDefault = hostOf(batch, one);
      demand(byDefault === hostOf(alone, one), 'the default is not used', batch, alone);
      demand(byDefault !== hostOf(batch, other), 'the entry does not override it', batch);
      return [batch, alone];
    },
  },
  {
    id: 'batch-maximum',
    section: 'POST /api/v1/links/batch',
    text: 'At most 10,000 links in a request.',
    check: async (session) => {
      // Where nothing else refuses them, a service that takes too many creates them all.
      if (session.limits === undefined && session.linksLeft < 10_001) {
        throw new NotShown('needs a budget for 10,001 links, should it fail: --budget-links');
      }
      const links = targets(session, 'too-many', 10_001);
      return [refused(await sendTooMany(session, links), 'a batch of 10,001 links')];
    },
  },
  {
    id: 'synchronous-batch',
    section: 'POST /api/v1/links/batch',
    text: '100 links or fewer: 200 with `status`, `total`, `results`.',
    check: async (session) => {
      const small = await smallBatch(session);
      demandStatus(small, 200);
      demandCount(small, 'total', 2);
      if (session.linksLeft < 100 || (session.limits?.links ?? 100) < 100) return [small];
      const large = await hundredBatch(session);
      demandStatus(large, 200);
      demand(statusOf(large) === 'completed', `status is ${show(statusOf(large))}`, large);
      demandCount(large, 'total', 100);
      demandItems(large, targets(session, 'hundred', 100));
      return [small, large];
    },
  },
  {
    id: 'asynchronous-batch',
    section: 'POST /api/v1/links/batch',
    text: 'More than 100 links: 202 with `job_id`, `status`, `total`.',
    check: async (session) => {
      const job = await acceptedJob(session);
      demandStatus(job, 202);
      demand(typeof fieldsOf(job)['job_id'] === 'string', 'there is no job_id', job);
      demand(statusOf(job) === 'processing', `status is ${show(statusOf(job))}`, job);
      demandCount(job, 'total', 101);
      return [job];
    },
  },
];

export const jobStatements: Statement[] = [
  {
    id: 'poll-key',
    section: 'GET /api/v1/jobs/<job_id>',
    text: 'Polling needs the same key header.',
    check: async (session) => {
      const poll = await session.send('GET', UNKNOWN_JOB, { key: null });
      demandStatus(poll, 401);
      return [poll];
    },
  },
  {
    id: 'poll-path',
    section: 'GET /api/v1/jobs/<job_id>',
    text: '`<job_id>` is the `job_id` of the 202 response.',
    check: async (session) => {
      const [poll] = await jobPolls(session);
      const unknown = await session.send('GET', UNKNOWN_JOB);
      refused(unknown, 'the poll of a job that was never accepted');
      return poll === undefined ? [unknown] : [poll, unknown];
    },
  },
  {
    id: 'completed-job',
    section: 'GET /api/v1/jobs/<job_id>',
    text: 'A completed job has `processed` = `total`.',
    check: async (session) => {
      const last = (await jobPolls(session)).at(-1);
      if (last === undefined) throw new Fails('the job was never polled');
      demandCount(last, 'total', 101);
      demandCount(last, 'processed', 101);
      demandItems(last, targets(session, 'job', 101));
      const { job_id } = fieldsOf(await acceptedJob(session));
      const again = await session.send('GET', JOBS + encodeURIComponent(String(job_id)));
      demandCount(again, 'processed', 101);
      demandItems(again, targets(session, 'job', 101));
      return [last];
    },
  },
];
