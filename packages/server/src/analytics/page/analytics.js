import './charts.js';
import './keys.js';
import {
  addRows,
  count,
  duration,
  fill,
  fromTemplate,
  lastDays,
  number,
  percent,
} from './words.js';

const STORED_KEY = 'shortlink-api-key';

/** After a window has ended, the service gets this long to begin the next one, in milliseconds. */
const AFTER_RESET_MS = 500;

/** The page asks by itself no more often than this, in milliseconds, whatever the two clocks say. */
const LEAST_REFETCH_MS = 10_000;

/** From this share of a limit on, the page says so. */
const NEAR = 0.8;

const byId = (id) => document.getElementById(id);

/** Kept here only, unless the visitor asks to remember it for this tab. */
let apiKey = '';

/** What was last shown, how far the service's clock is ahead of this one, and when to ask again by itself. */
let shown;

let periodDays = 30;
let countdown;

byId('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  apiKey = byId('key').value.trim();
  if (apiKey === '') showError('Enter an API key first.');
  else show({ moveFocus: true });
});
byId('refresh').addEventListener('click', () => show());
byId('sign-out').addEventListener('click', signOut);
byId('period').addEventListener('click', ({ target }) => {
  if (target.value === undefined) return;
  periodDays = Number(target.value);
  for (const button of byId('period').querySelectorAll('button')) {
    button.setAttribute('aria-pressed', String(button === target));
  }
  renderHistory(shown.usage);
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && shown !== undefined && Date.now() >= shown.refetchAt) show();
});

apiKey = sessionStorage.getItem(STORED_KEY) ?? '';
if (apiKey !== '') show();

function signOut() {
  apiKey = '';
  shown = undefined;
  clearInterval(countdown);
  sessionStorage.removeItem(STORED_KEY);
  byId('key').value = '';
  byId('remember').checked = false;
  byId('keys').clear();
  byId('limits').replaceChildren();
  byId('account-days').replaceChildren();
  byId('top-links-rows').replaceChildren();
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
  const buttons = [byId('refresh'), byId('sign-in').querySelector('button')];
  for (const button of buttons) button.disabled = true;
  try {
    const answered = await fetchUsage();
    showError('');
    if (byId('remember').checked) sessionStorage.setItem(STORED_KEY, apiKey);
    byId('key').value = '';
    toggle({ signedIn: true });
    render(answered);
    if (moveFocus) byId('account-heading').focus();
  } catch (error) {
    if (byId('usage').hidden) sessionStorage.removeItem(STORED_KEY);
    showError(error.message);
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

/** Shows a problem where the visitor looks: under the field, or above the figures. */
function showError(text) {
  const isSignedIn = !byId('usage').hidden;
  for (const [id, message] of [
    ['key-error', isSignedIn ? '' : text],
    ['problem', isSignedIn ? text : ''],
  ]) {
    byId(id).textContent = message;
    byId(id).hidden = message === '';
  }
  byId('key').setAttribute('aria-invalid', String(!isSignedIn && text !== ''));
  if (!isSignedIn && text !== '') byId('key').focus();
}

async function fetchUsage() {
  let response;
  try {
    response = await fetch('/api/v1/usage', {
      headers: { 'X-Api-Key': apiKey },
      cache: 'no-store',
    });
  } catch {
    throw new Error('The service can not be reached, or the key has characters that no key has.');
  }
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.error ?? `The service answered ${response.status}.`);
  const aheadMs = Date.parse(response.headers.get('Date') ?? '') - Date.now();
  // The header has whole seconds: a smaller difference is none.
  return { usage: body, aheadMs: Math.abs(aheadMs) > 2_000 ? aheadMs : 0 };
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
  fill(document, '#welcome-login', `npx @shortlink/cli auth login --base-url ${location.origin}`);
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
  if (Date.now() >= shown.refetchAt && !document.hidden) {
    shown.refetchAt = Number.POSITIVE_INFINITY;
    show();
  }
}

/** The one sentence about the limit that matters most: one that is reached, else one that is near. */
function noticeOf({ minute, day, month }, links) {
  const windows = [
    { window: month, when: 'this month' },
    { window: day, when: 'today' },
    { window: minute, when: 'this minute' },
  ];
  for (const { window, when } of windows) {
    if (window.limit === null || window.used < window.limit) continue;
    const text = `All ${number.format(window.limit)} requests of ${when} are used; more are refused.`;
    return { isReached: true, text, window };
  }
  if (links.limit !== null && links.used >= links.limit) {
    const text = `All ${number.format(links.limit)} links of the plan are used. New links are refused; the existing ones keep working.`;
    return { isReached: true, text };
  }
  if (links.limit !== null && links.used >= links.limit * NEAR) {
    const left = links.limit - links.used;
    return { text: `There is room for ${count(left, 'more link')} in the plan.` };
  }
  for (const { window, when } of windows.slice(0, 2)) {
    if (window.limit === null || window.used < window.limit * NEAR) continue;
    return {
      text: `${percent(window.used, window.limit)} of the requests of ${when} are used.`,
      window,
    };
  }
  return undefined;
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

/** The days of the whole account. An older service has those of each key only. */
function historyOf({ history, keys }) {
  if (history !== undefined) return history;
  const byDate = new Map();
  for (const { date, requests, refused, links } of keys.flatMap((key) => key.history)) {
    const sum = byDate.get(date) ?? { date, requests: 0, refused: 0, links: 0 };
    sum.requests += requests;
    sum.refused += refused;
    sum.links += links;
    byDate.set(date, sum);
  }
  return [...byDate.values()];
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

const withoutScheme = (url) => url.replace(/^https?:\/\//, '');

/** One line of text, cut where there is no room for it. */
function lineOf(textContent, className = '') {
  return Object.assign(document.createElement('span'), {
    textContent,
    className: `cut ${className}`,
  });
}

function noteOnTopLinks(links) {
  if (links === undefined) return 'Only keys with the permission analytics:read show links.';
  if (links.length === 0) return 'No link was clicked yet.';
  return 'Clicks since each link was created.';
}
