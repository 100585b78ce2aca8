import './charts.js';
import './keys.js';
import {
  addRows,
  duration,
  fill,
  fromTemplate,
  historyOf,
  lastDays,
  lineOf,
  noticeOf,
  number,
  percent,
  withoutScheme,
} from './words.js';

const STORED_KEY = 'shortlink-api-key';

/** After a window has ended, the service gets this long to begin the next one, in milliseconds. */
const AFTER_RESET_MS = 500;

/** The page asks by itself no more often than this, in milliseconds, whatever the two clocks say. */
const LEAST_REFETCH_MS = 10_000;

/** What shows the account, beside its heading, the charts and the keys. */
const FILLED = [
  'status',
  'notice-text',
  'notice-wait',
  'limits',
  'account-days',
  'top-links-note',
  'top-links-rows',
];

const byId = (id) => document.getElementById(id);

/** Kept here only, unless the visitor asks to remember it for this tab. */
let apiKey = '';

/** What was last shown, how far the service's clock is ahead of this one, and when to ask again by itself. */
let shown;

/** The request that is under way: an `AbortController`, or `undefined`. */
let running;

let periodDays = 30;
let countdown;

byId('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  if (running !== undefined) return;
  apiKey = byId('key').value.trim();
  if (apiKey === '') showError('Enter an API key first.');
  else show({ moveFocus: true });
});
byId('remember').addEventListener('change', ({ target }) => {
  if (!target.checked) sessionStorage.removeItem(STORED_KEY);
});
byId('refresh').addEventListener('click', () => running ?? show());
byId('sign-out').addEventListener('click', signOut);
byId('period').addEventListener('click', ({ target }) => {
  if (target.value === undefined) return;
  periodDays = Number(target.value);
  for (const button of byId('period').querySelectorAll('button')) {
    button.setAttribute('aria-pressed', String(button === target));
  }
  renderHistory(shown.usage);
});
document.addEventListener('visibilitychange', refetchWhenDue);

fill(document, '#welcome-login', `npx @shortlink/cli auth login --base-url ${location.origin}`);

apiKey = sessionStorage.getItem(STORED_KEY) ?? '';
if (apiKey !== '') {
  // In the form the key can be tried again, or forgotten, when the first request fails.
  byId('key').value = apiKey;
  byId('remember').checked = true;
  show();
}

function signOut() {
  running?.abort();
  setRunning(undefined);
  apiKey = '';
  shown = undefined;
  clearInterval(countdown);
  sessionStorage.removeItem(STORED_KEY);
  byId('key').value = '';
  byId('remember').checked = false;
  for (const id of ['account-requests', 'account-links', 'keys']) byId(id).clear();
  for (const id of FILLED) byId(id).replaceChildren();
  byId('account-heading').textContent = 'Account';
  byId('notice').hidden = true;
  showError('');
  toggle({ signedIn: false });
  byId('key').focus();
}

function toggle({ signedIn }) {
  byId('sign-in').hidden = signedIn;
  byId('intro').hidden = signedIn;
  byId('usage').hidden = !signedIn;
}

/** Asks for the usage and shows it; an error leaves what was shown before and says why. */
async function show({ moveFocus = false } = {}) {
  const request = new AbortController();
  setRunning(request);
  try {
    const answered = await fetchUsage(request.signal);
    request.signal.throwIfAborted();
    showError('');
    if (byId('remember').checked) sessionStorage.setItem(STORED_KEY, apiKey);
    byId('key').value = '';
    toggle({ signedIn: true });
    render(answered);
    if (moveFocus) byId('account-heading').focus();
  } catch (error) {
    if (request.signal.aborted) return;
    if (error.isKeyRejected) sessionStorage.removeItem(STORED_KEY);
    if (shown !== undefined) {
      const waitMs = Math.max(LEAST_REFETCH_MS, error.retryAfterMs ?? 0);
      // A key that is rejected once is rejected again: only the visitor asks then.
      shown.refetchAt = error.isKeyRejected ? Number.POSITIVE_INFINITY : Date.now() + waitMs;
    }
    showError(error.message);
  } finally {
    if (running === request) setRunning(undefined);
  }
}

/** While a request is under way, no button sends another one. They are not `disabled`: that would take the focus from them. */
function setRunning(request) {
  running = request;
  for (const button of [byId('refresh'), byId('sign-in').querySelector('button')]) {
    button.ariaDisabled = request === undefined ? null : 'true';
  }
}

/** Shows a problem where the visitor looks: under the field, or above the figures. */
function showError(text) {
  const isSignedIn = !byId('usage').hidden;
  for (const [id, message] of [
    ['key-error', isSignedIn ? '' : text],
    ['problem', isSignedIn ? text : ''],
  ]) {
    // Text that is set is announced, also when it is the same.
    if (byId(id).textContent !== message) byId(id).textContent = message;
    byId(id).hidden = message === '';
  }
  byId('key').setAttribute('aria-invalid', String(!isSignedIn && text !== ''));
  if (!isSignedIn && text !== '') byId('key').focus();
}

async function fetchUsage(signal) {
  let response;
  try {
    response = await fetch('/api/v1/usage', {
      headers: { 'X-Api-Key': apiKey },
      cache: 'no-store',
      signal,
    });
  } catch {
    throw new Error('The service can not be reached, or the key has characters that no key has.');
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) {
    const error = new Error(body.error ?? `The service answered ${response.status}.`);
    throw Object.assign(error, {
      isKeyRejected: response.status === 401 || body.code === 'account_disabled',
      retryAfterMs: retryAfterMs(response.headers.get('Retry-After') ?? ''),
    });
  }
  const aheadMs = Date.parse(response.headers.get('Date') ?? '') - Date.now();
  // The header has whole seconds: a smaller difference is none.
  return { usage: body, aheadMs: Math.abs(aheadMs) > 2_000 ? aheadMs : 0 };
}

/** `Retry-After` has seconds or a date. */
function retryAfterMs(value) {
  return Number(value) * 1_000 || Date.parse(value) - Date.now() || 0;
}

function render({ usage, aheadMs }) {
  const { requests, links, api_keys, batch_size } = usage;
  const windows = [requests.minute, requests.day, requests.month];
  const ends = windows.map(({ resets_at }) => new Date(resets_at).getTime());
  const firstEnd = Math.min(...ends) - aheadMs + AFTER_RESET_MS;
  shown = { usage, aheadMs, refetchAt: Math.max(Date.now() + LEAST_REFETCH_MS, firstEnd) };
  const plan = usage.plan.charAt(0).toUpperCase() + usage.plan.slice(1);
  byId('account-heading').textContent = `${plan} plan`;
  byId('limits').replaceChildren(
    limitCard('Requests this minute', requests.minute),
    limitCard('Requests today', requests.day),
    limitCard('Requests this month', requests.month),
    limitCard('Links in total', links),
    limitCard('API keys', api_keys, { isNeutral: true }),
    batchCard(batch_size ?? 10_000),
  );
  const isEmpty = links.used === 0 && historyOf(usage).length === 0;
  byId('welcome').hidden = !isEmpty;
  byId('history').hidden = isEmpty;
  renderHistory(usage);
  renderTopLinks(usage.top_links, isEmpty);
  byId('keys').show(usage.keys);
  const time = new Date().toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  byId('status').textContent = `As of ${time}`;
  clearInterval(countdown);
  countdown = setInterval(tick, 1_000);
  tick();
}

/** Counts the waits down, and asks again when a window has ended. */
function tick() {
  const { requests, links } = shown.usage;
  const now = Date.now() + shown.aheadMs;
  for (const [n, { limit, used, resets_at }] of [
    requests.minute,
    requests.day,
    requests.month,
  ].entries()) {
    const wait = duration(new Date(resets_at).getTime() - now);
    const share = limit === null ? '' : `${percent(used, limit)} used, `;
    fill(byId('limits').children[n], '.note', `${share}resets in ${wait}`);
  }
  const notice = noticeOf(requests, links);
  byId('notice').hidden = notice === undefined;
  byId('notice').classList.toggle('full', notice?.isReached ?? false);
  // The sentence is read aloud when it changes; the wait, which changes each second, is not part of it.
  const { text = '', window } = notice ?? {};
  if (byId('notice-text').textContent !== text) byId('notice-text').textContent = text;
  byId('notice-wait').textContent =
    window === undefined
      ? ''
      : `Resets in ${duration(new Date(window.resets_at).getTime() - now)}.`;
  refetchWhenDue();
}

function refetchWhenDue() {
  if (!document.hidden && running === undefined && Date.now() >= shown?.refetchAt) show();
}

function limitCard(name, { used, limit }, { isNeutral = false } = {}) {
  const card = fromTemplate('limit-template').firstElementChild;
  fill(card, '.limit-name', name);
  fill(card, '.used', number.format(used));
  fill(card, '.allowed', limit === null ? 'no limit' : `of ${number.format(limit)}`);
  if (limit !== null && !isNeutral) fill(card, '.note', `${percent(used, limit)} used`);
  card.querySelector('usage-meter').show({ name, used, limit, isNeutral });
  return card;
}

function batchCard(limit) {
  const card = fromTemplate('limit-template').firstElementChild;
  fill(card, '.limit-name', 'Links in one batch');
  fill(card, '.used', number.format(limit));
  fill(card, '.allowed', 'at most');
  card.querySelector('usage-meter').remove();
  return card;
}

function renderHistory(usage) {
  const days = lastDays(historyOf(usage), periodDays);
  byId('account-requests').show({ days, parts: ['requests', 'refused'], title: 'Requests a day' });
  byId('account-links').show({ days, parts: ['links'], title: 'Links created a day' });
  addRows(
    byId('account-days'),
    days
      .toReversed()
      .map(({ date, ...counts }) => [
        date,
        ...[counts.requests, counts.refused, counts.links].map((amount) => number.format(amount)),
      ]),
  );
}

/** @param links The most clicked links; `undefined` when the key may not see them, and from older services. */
function renderTopLinks(links, isEmpty) {
  byId('top-links').hidden = isEmpty;
  fill(document, '#top-links-note', noteOnTopLinks(links));
  document.querySelector('.top-links').hidden = !links?.length;
  addRows(
    byId('top-links-rows'),
    (links ?? []).map(({ short_url, target_url, title, click_count }) => {
      const link = Object.assign(document.createElement('a'), {
        textContent: withoutScheme(short_url),
        href: short_url,
        target: '_blank',
        rel: 'noreferrer',
      });
      const target = lineOf(withoutScheme(target_url));
      target.title = target_url;
      const name = document.createElement('span');
      // Where there is no column for targets, a link without a title shows its target below.
      name.append(link, lineOf(title || withoutScheme(target_url), title ? '' : 'narrow'));
      return [name, target, number.format(click_count)];
    }),
  );
}

function noteOnTopLinks(links) {
  if (links === undefined) return 'Only keys with the permission analytics:read show links.';
  if (links.length === 0) return 'No link was clicked yet.';
  return 'Clicks since each link was created.';
}
