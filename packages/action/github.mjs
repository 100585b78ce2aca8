// Comments and pull requests, through GitHub's API.
import { readFileSync } from 'node:fs';
import { annotate, setOutputs } from './report.mjs';

const { env } = process;

async function api(method, path, body) {
  const response = await fetch(`${env.GITHUB_API_URL}/repos/${env.GITHUB_REPOSITORY}/${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${env.INPUT_TOKEN}`,
      Accept: 'application/vnd.github+json',
    },
    body: body && JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${response.status} ${answer.message}`);
  return answer;
}

/** Writes a comment on the pull request, or updates that of an earlier run. The token of a fork may not: the page of the run has it all. */
export async function comment(file, text) {
  const mark = `<!-- shortlink plan of ${encodeURI(file)} -->`;
  try {
    const { number } = JSON.parse(readFileSync(env.GITHUB_EVENT_PATH, 'utf8')).pull_request;
    let found;
    for (let page = 1, count = 100; count === 100 && !found; page += 1) {
      const comments = await api('GET', `issues/${number}/comments?per_page=100&page=${page}`);
      count = comments.length;
      found = comments.find(({ body }) => body.startsWith(mark));
    }
    const body = `${mark}\n${text}`;
    if (found) await api('PATCH', `issues/comments/${found.id}`, { body });
    else await api('POST', `issues/${number}/comments`, { body });
  } catch ({ message }) {
    const needs = 'a comment needs "permissions: pull-requests: write", which forks do not have';
    annotate(
      'notice',
      { file },
      `The plan is on the page of this run only: ${needs} (${message}).`,
    );
  }
}

/** Opens the pull request of a branch, or updates it. Returns whether it is there. */
export async function openPullRequest({ base, branch }, title, body) {
  const head = `${env.GITHUB_REPOSITORY.split('/')[0]}:${branch}`;
  try {
    const [found] = await api('GET', `pulls?${new URLSearchParams({ state: 'open', base, head })}`);
    const { html_url } = found
      ? await api('PATCH', `pulls/${found.number}`, { title, body })
      : await api('POST', 'pulls', { title, body, base, head: branch });
    setOutputs({ 'pull-request': html_url });
    return true;
  } catch ({ message }) {
    const needs =
      'Give the job "permissions: pull-requests: write", and let GitHub Actions create pull requests in the settings of the repository. Or open it by hand.';
    const text = `The short links are in the branch ${branch}, but its pull request can't be opened (${message}). ${needs}`;
    annotate('error', {}, text);
    return false;
  }
}
