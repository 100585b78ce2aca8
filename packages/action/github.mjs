// Comments and pull requests, through GitHub's API.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout } from 'node:timers/promises';
import { annotate, setOutputs } from './report.mjs';

const { env } = process;
/** Before GitHub is asked again that did not respond, or had a fault, in milliseconds. */
const WAITS_MS = [1_000, 3_000];
const REFUSALS = [401, 403, 404];

async function api(method, path, body) {
  const response = await fetch(`${env.GITHUB_API_URL}/repos/${env.GITHUB_REPOSITORY}/${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${env.INPUT_TOKEN}`,
      Accept: 'application/vnd.github+json',
    },
    body: body && JSON.stringify(body),
  });
  const { ok, status, statusText, headers } = response;
  // Comments of hidden users are missing in their page, so that its length says nothing.
  const isLast = !headers.get('link')?.includes('rel="next"');
  if (ok) return { answer: await response.json(), isLast };
  // A proxy or a balancer before GitHub responds with a page of its own.
  const { message, errors = [] } = await response.json().catch(() => ({}));
  const words = [message, ...errors.map((error) => error.message)].filter(Boolean).join(': ');
  const isLimit = headers.has('retry-after') || headers.get('x-ratelimit-remaining') === '0';
  const isRefused = REFUSALS.includes(status) && !isLimit;
  throw Object.assign(new Error(`${status} ${words || statusText}`), { status, isRefused });
}

/** Runs steps that look first what is there, so that they may run again. Node knows the proxy of a runner only if it is told. */
async function withRetries(steps) {
  http.setGlobalProxyFromEnv?.();
  for (const waitMs of WAITS_MS) {
    try {
      return await steps();
    } catch (error) {
      if (error.status < 500) throw error;
    }
    await setTimeout(waitMs);
  }
  return steps();
}

/** Whether somebody wrote it who may not write the repository, and could change a plan that stands in a comment of theirs. */
const isOfStranger = ({ user, author_association }) =>
  user?.type === 'User' && !['OWNER', 'MEMBER', 'COLLABORATOR'].includes(author_association);

/** Writes a comment on the pull request, or updates that of an earlier run. The token of a fork may not: the page of the run has it all. */
export async function comment(file, text) {
  const mark = `<!-- shortlink plan of ${encodeURI(file)} -->`;
  try {
    const { pull_request } = JSON.parse(readFileSync(env.GITHUB_EVENT_PATH, 'utf8'));
    // A merge queue has none.
    if (pull_request === undefined) return;
    const list = `issues/${pull_request.number}/comments`;
    await withRetries(async () => {
      let found;
      for (let page = 1, isEnd = false; !isEnd && !found; page += 1) {
        const { answer, isLast } = await api('GET', `${list}?per_page=100&page=${page}`);
        found = answer.find((one) => one.body?.startsWith(mark) && !isOfStranger(one));
        isEnd = isLast;
      }
      const body = `${mark}\n${text}`;
      if (found) await api('PATCH', `issues/comments/${found.id}`, { body });
      else await api('POST', list, { body });
    });
  } catch ({ message, isRefused }) {
    const needs = isRefused
      ? ' A comment needs "permissions: pull-requests: write", which forks do not have.'
      : '';
    const what = 'The plan is on the page of this run only, because there is no comment';
    annotate('notice', { file }, `${what} (${message}).${needs}`);
  }
}

/** Opens the pull request of a branch, or updates it. Returns whether it is there. */
export async function openPullRequest({ base, branch }, title, body) {
  const head = `${env.GITHUB_REPOSITORY.split('/')[0]}:${branch}`;
  const list = `pulls?${new URLSearchParams({ state: 'open', base, head })}`;
  try {
    const { answer } = await withRetries(async () => {
      const [found] = (await api('GET', list)).answer;
      return found
        ? api('PATCH', `pulls/${found.number}`, { title, body })
        : api('POST', 'pulls', { title, body, base, head: branch });
    });
    setOutputs({ 'pull-request': answer.html_url });
    return true;
  } catch ({ message, isRefused }) {
    const needs = isRefused
      ? 'Give the job "permissions: pull-requests: write", and let GitHub Actions create pull requests in the settings of the repository. Or open it by hand.'
      : 'Run the job again, or open it by hand.';
    const text = `The short links are in the branch ${branch}, but its pull request can't be opened (${message}). ${needs}`;
    annotate('error', {}, text);
    return false;
  }
}
