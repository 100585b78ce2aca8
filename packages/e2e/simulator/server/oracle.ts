import { bounds, endOf, judgeClicks, judgeWindows, WINDOWS } from './counters.ts';
import { judgeCorrections, judgeMoves, movedTo } from './leads.ts';
import { type Attempt, type Create, type Ledger, targetOf } from './ledger.ts';
import type { World } from './world.ts';

/** A request that the service counted, or may have counted, at some time since this event. */
function mayCount({ witness, answer, ended }: Attempt, since: number): boolean {
  if (witness.admittedAt === undefined) return false;
  if (answer === undefined) return true;
  if (answer.status < 500) return answer.status !== 429;
  // Those that fail on the side of the service are given back before they are answered.
  return witness.isDoubtful === true || (ended ?? since) >= since;
}

/** Whether no attempt at it can have stored anything, as far as clients know. */
function isRefused({ attempts }: Create): boolean {
  return attempts.every(({ answer }) => {
    if (answer === undefined) return false;
    // 503 invites to send the same create again, so nothing of it may be stored. After a 500 it may be.
    return answer.status >= 400 && answer.status !== 500;
  });
}

/** What a response must be, judged when it arrives by all that was sent until then. */
export function judgeAnswer(ledger: Ledger, attempt: Attempt): string | undefined {
  const { answer, create, key } = attempt;
  if (answer === undefined) return undefined;
  const { status, json } = answer;
  if (status === 401) return key.revoked === undefined ? 'a valid key is 401' : undefined;
  const hasFailed = attempt.isLate || ledger.faults.some((event) => event > attempt.began);
  const isLost = status >= 500 && ledger.readsFail && hasFailed;
  const revokedAt = key.revoked && Math.max(key.revoked.doneAt, attempt.passedAt);
  if (attempt.sentAt > (revokedAt ?? Number.POSITIVE_INFINITY) && !isLost)
    return `a revoked key is ${status}`;
  if (status === 429) return judgeRefusal(ledger, attempt);
  if (status >= 500) {
    // A look-up waits for jobs, and time may pass in a leap meanwhile.
    const mayWait = attempt.what === 'lookup' && ledger.creates.some(({ kind }) => kind === 'job');
    return hasFailed || mayWait ? undefined : `${status} although nothing failed meanwhile`;
  }
  if (create === undefined) return `unexpected status ${status}`;
  if (attempt.what === 'poll') return judgePoll(attempt, create);
  if (attempt.what === 'lookup') return judgeLookup(ledger, attempt, create);
  if (create.badEntry !== undefined) return status === 400 ? undefined : `a bad entry is ${status}`;
  if (status === 403) return judgePlanLimit(ledger, create, json);
  if (status === 409) {
    return ledger.attempts.some((other) => isBeside(other, attempt))
      ? undefined
      : '409 without another request under the key at that time';
  }
  if (create.conflictsWith !== undefined) {
    return status === 422 ? undefined : `another body under the same idempotency key is ${status}`;
  }
  return judgeCreated(create, status, json);
}

/** Whether another create under the same key was under way in the same process, at any time while this one was. */
function isBeside(other: Attempt, { number, account, instance, create, began }: Attempt): boolean {
  return (
    other.number !== number &&
    other.what === 'create' &&
    other.account === account &&
    other.instance === instance &&
    other.create?.idempotencyKey === create?.idempotencyKey &&
    (other.ended ?? began) >= began
  );
}

/** 429 is right only when a window can be full, and `Retry-After` must lead to its end. */
function judgeRefusal(
  ledger: Ledger,
  { account, witness, answer, began }: Attempt,
): string | undefined {
  const at = witness.admittedAt;
  if (at === undefined) return '429 before the request was counted';
  const full = WINDOWS.filter((window) => {
    const counted = ledger.attempts.filter(
      (other) =>
        other.account === account &&
        mayCount(other, began) &&
        endOf(window, other.witness.admittedAt ?? 0) === endOf(window, at),
    );
    return counted.length >= bounds(account, `requests_per_${window}`).least;
  });
  if (full.length === 0) return '429 although no window is full';
  const retryAfter = Number(answer?.headers.get('retry-after'));
  const ends = full.map((window) => Math.ceil((endOf(window, at) - at) / 1_000));
  return ends.includes(retryAfter)
    ? undefined
    : `Retry-After is ${retryAfter} s, and full windows end in ${ends.join(' s, ')} s`;
}

function judgePlanLimit(
  ledger: Ledger,
  create: Create,
  json: Attempt['answer'],
): string | undefined {
  const { limit } = json as unknown as { limit: string };
  const { account, count } = create;
  if (limit === 'batch_size') {
    return count > bounds(account, 'batch_size').least
      ? undefined
      : 'batch_size refuses too few links';
  }
  const mayExist = ledger.creates.filter(
    (other) => other.account === account && other !== create && !isRefused(other),
  );
  const moved = movedTo(ledger, account);
  const used = mayExist.reduce((sum, other) => sum + other.count, moved);
  return used + count > bounds(account, 'links').least
    ? undefined
    : `refused by the total of links at ${used} + ${count}`;
}

function judgeCreated(
  create: Create,
  status: number,
  json: Create['acknowledged'],
): string | undefined {
  const expected = { link: 201, batch: 200, job: 202 }[create.kind];
  if (status !== expected) return `a ${create.kind} is ${status}`;
  const earlier = create.acknowledged;
  create.acknowledged ??= json;
  if (earlier !== undefined && JSON.stringify(earlier) !== JSON.stringify(json)) {
    return 'the same idempotency key has two responses';
  }
  if (create.kind === 'job') return json.total === create.count ? undefined : 'wrong total';
  const items = create.kind === 'link' ? [json] : json.results;
  return judgeItems(create, items, create.count);
}

/** Result items: the first so many of a create, in its order. */
function judgeItems(
  create: Create,
  items: readonly { target_url: string; code: string; short_url: string }[],
  count: number,
): string | undefined {
  if (items.length !== count) return `${items.length} results instead of ${count}`;
  const wrong = items.findIndex(
    (item, index) =>
      item.target_url !== targetOf(create, index) || !item.short_url.endsWith(`/${item.code}`),
  );
  return wrong === -1 ? undefined : `result ${wrong} is not the link of entry ${wrong}`;
}

function judgePoll(attempt: Attempt, create: Create): string | undefined {
  const { status, json } = attempt.answer ?? {};
  const isForeign = attempt.account !== create.account;
  if (isForeign) return status === 404 ? undefined : `another account's job is ${status}`;
  if (status !== 200) return `an accepted job is ${status}`;
  const { processed, total, results } = json;
  if (total !== create.count || processed > total) return `a job shows ${processed} of ${total}`;
  if ((json.status === 'completed') !== (processed === total))
    return `a job is ${json.status} too early`;
  return judgeItems(create, results, processed);
}

/** A look-up of the first and the last link of a create that was acknowledged before it, and of a target that no link has. */
function judgeLookup(ledger: Ledger, attempt: Attempt, create: Create): string | undefined {
  const { status, json } = attempt.answer ?? {};
  if (status !== 200) return `a look-up is ${status}`;
  const found: { target_url: string; code: string }[][] = json.results.map(
    ({ links }: { links: { target_url: string; code: string }[] }) => links,
  );
  const indexes = [0, create.count - 1];
  const { code, results } = create.acknowledged;
  const isRight = (links: (typeof found)[number], place: number): boolean => {
    const index = indexes[place];
    if (index === undefined || attempt.account !== create.account) return links.length === 0;
    const expected = create.kind === 'link' ? code : results?.[index].code;
    // A corrected link is found by where it leads now.
    if (ledger.leads.has(expected)) return true;
    const [link] = links;
    return (
      links.length === 1 &&
      link?.target_url === targetOf(create, index) &&
      (expected === undefined || link.code === expected)
    );
  };
  const wrong = found.findIndex((links, place) => !isRight(links, place));
  if (wrong === -1 && found.length === 3) return undefined;
  return `a look-up of create ${create.number} finds ${JSON.stringify(found[wrong])} for entry ${wrong}`;
}

/** What must hold after every commit, whatever is under way. All of it is read before another commit can come. */
export async function judgeState(world: World, ledger: Ledger): Promise<string | undefined> {
  const overfull = world.rows('SELECT 1 FROM jobs WHERE processed > total LIMIT 1');
  const totals = ledger.accounts.map(({ id }) =>
    world.rows<{ used: number; made: number; owed: number }>(
      `SELECT (SELECT used FROM link_totals WHERE account_id = accounts.id) AS used,
         (SELECT count(*) FROM links WHERE account_id = accounts.id) AS made,
         (SELECT coalesce(sum(total - processed), 0) FROM jobs WHERE account_id = accounts.id) AS owed
       FROM accounts WHERE id = ?`,
      id,
    ),
  );
  if ((await overfull).length > 0) return 'a job has made more links than it has';
  for (const [index, [row]] of (await Promise.all(totals)).entries()) {
    const account = ledger.accounts[index];
    if (row === undefined || account === undefined) return 'an account is gone';
    if (row.used !== row.made + row.owed) {
      return `${account.name} has ${row.made} links and ${row.owed} to come, and ${row.used} are counted`;
    }
    const most = bounds(account, 'links').most + movedTo(ledger, account);
    if (row.used > most) return `${account.name} has ${row.used} links, and its plan ${most}`;
  }
  return undefined;
}

/** What must hold when everything has come to rest. */
export async function judgeEnd(world: World, ledger: Ledger): Promise<string | undefined> {
  const stored = new Map<number, { code: string; index: number }[]>();
  for (const { code, target_url } of await world.rows<{ code: string; target_url: string }>(
    'SELECT code, target_url FROM links',
  )) {
    const first = ledger.leads.get(code)?.[0]?.target ?? target_url;
    const [number = 0, index = 0] = first.split('/').slice(3).map(Number);
    const links = stored.get(number) ?? [];
    stored.set(number, links);
    links.push({ code, index });
  }
  for (const create of ledger.creates) {
    const problem =
      judgeStored(create, stored.get(create.number) ?? []) ?? (await judgeJob(world, create));
    if (problem !== undefined) return `create ${create.number}: ${problem}`;
  }
  return (
    (await judgeCorrections(world, ledger)) ??
    (await judgeMoves(world, ledger)) ??
    (await judgeWindows(world, ledger)) ??
    (await judgeClicks(world, ledger))
  );
}

function judgeStored(
  create: Create,
  links: readonly { code: string; index: number }[],
): string | undefined {
  const { acknowledged, count } = create;
  if (new Set(links.map(({ index }) => index)).size !== links.length) return 'a link exists twice';
  if (links.length !== 0 && links.length !== count)
    return `${links.length} of ${count} links exist`;
  if (acknowledged === undefined) {
    return links.length > 0 && isRefused(create) ? 'refused, and stored' : undefined;
  }
  if (links.length === 0) return 'acknowledged, and not stored';
  if (create.kind === 'job') return undefined;
  const items: { code: string }[] = create.kind === 'link' ? [acknowledged] : acknowledged.results;
  const codes = new Map(links.map(({ code, index }) => [index, code]));
  return items.every(({ code }, index) => codes.get(index) === code)
    ? undefined
    : 'the response names other codes than the database';
}

async function judgeJob(world: World, create: Create): Promise<string | undefined> {
  if (create.kind !== 'job' || create.acknowledged === undefined) return undefined;
  const { job_id } = create.acknowledged;
  const job = await world.operate((store) => store.findJob(create.account.id, job_id));
  if (job === undefined) return 'the accepted job is gone';
  if (job.status !== 'completed') return `the job stands at ${job.processed} of ${job.total}`;
  const chunks: string[] = [];
  for (let chunk = 0; chunk < job.results.chunks; chunk += 1) {
    const bytes = await world.operate((store) => store.readJobResults(job_id, chunk));
    chunks.push(Buffer.from(bytes ?? []).toString());
  }
  return judgeItems(create, JSON.parse(`[${chunks.join(',')}]`), create.count);
}
