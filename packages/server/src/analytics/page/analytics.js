const STORED_KEY = 'shortlink-api-key';
const HISTORY_DAYS = 30;
const DAY_MS = 86_400_000;

const REASONS = {
  minute: 'Requests a minute',
  day: 'Requests a day',
  month: 'Requests a month',
  links: 'Short links in total',
  batch_size: 'Links in one batch',
};

const byId = (id) => document.getElementById(id);
const number = new Intl.NumberFormat('en-US');
const shortDate = new Intl.DateTimeFormat('en-US', {
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC',
});

/** Kept here only, unless the visitor asks to remember it for this tab. */
let apiKey = '';

byId('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  apiKey = byId('key').value.trim();
  show({ moveFocus: true });
});
byId('refresh').addEventListener('click', () => show());
byId('sign-out').addEventListener('click', signOut);

apiKey = sessionStorage.getItem(STORED_KEY) ?? '';
if (apiKey !== '') show();

function signOut() {
  apiKey = '';
  sessionStorage.removeItem(STORED_KEY);
  byId('key').value = '';
  byId('remember').checked = false;
  byId('keys').replaceChildren();
  byId('limits').replaceChildren();
  toggle({ signedIn: false });
  byId('key').focus();
}

function toggle({ signedIn }) {
  byId('sign-in').hidden = signedIn;
  byId('intro').hidden = signedIn;
  byId('usage').hidden = !signedIn;
}

/** Asks for the usage and shows it; a refusal leaves what was shown before and says why. */
async function show({ moveFocus = false } = {}) {
  const buttons = document.querySelectorAll('button');
  for (const button of buttons) button.disabled = true;
  byId('message').hidden = true;
  try {
    const usage = await fetchUsage();
    if (byId('remember').checked) sessionStorage.setItem(STORED_KEY, apiKey);
    byId('key').value = '';
    toggle({ signedIn: true });
    render(usage);
    if (moveFocus) byId('account-heading').focus();
  } catch (error) {
    byId('message').textContent = error.message;
    byId('message').hidden = false;
    if (byId('usage').hidden) sessionStorage.removeItem(STORED_KEY);
  } finally {
    for (const button of buttons) button.disabled = false;
  }
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
  return body;
}

function render(usage) {
  const { requests } = usage;
  const plan = usage.plan.charAt(0).toUpperCase() + usage.plan.slice(1);
  byId('account-heading').textContent = `Account: ${plan} plan`;
  byId('status').textContent = `As of ${new Date().toLocaleTimeString()}`;
  byId('limits').replaceChildren(
    limitCard('Requests this minute', requests.minute, resets(requests.minute)),
    limitCard('Requests today', requests.day, resets(requests.day)),
    limitCard('Requests this month', requests.month, resets(requests.month)),
    limitCard('Short links in total', usage.links),
    limitCard('API keys', usage.api_keys),
    limitCard('Links in one batch', { used: null, limit: usage.batch_size ?? 10_000 }),
  );
  byId('keys').replaceChildren(...usage.keys.map((key) => keyCard(key, usage)));
}

function resets({ resets_at }) {
  const end = new Date(resets_at);
  const seconds = Math.max(1, Math.round((end - Date.now()) / 1_000));
  if (seconds < 60) return `new in ${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `new in ${minutes} min`;
  if (minutes < 48 * 60) return `new in ${Math.round(minutes / 60)} h`;
  return `new on ${shortDate.format(end)}`;
}

function limitCard(name, { used, limit }, note = '') {
  const card = fromTemplate('limit-template');
  fill(card, '.limit-name', name);
  if (used === null) {
    fill(card, '.used', limit === null ? 'unlimited' : number.format(limit));
    fill(card, '.allowed', 'at most');
    return card;
  }
  fill(card, '.used', number.format(used));
  fill(card, '.allowed', limit === null ? 'no limit' : `of ${number.format(limit)}`);
  fill(card, '.note', [percent(used, limit), note].filter((part) => part !== '').join(', '));
  card.querySelector('usage-meter').show({ name, used, limit });
  return card;
}

function percent(used, limit) {
  if (limit === null) return '';
  return `${limit === 0 ? 100 : Math.min(100, Math.floor((used / limit) * 100))} % used`;
}

function keyCard(key, usage) {
  const card = fromTemplate('key-template');
  fill(card, '.key-name', key.name || key.id);
  const created = new Date(key.created_at).toISOString().slice(0, 10);
  const facts = [key.id, key.permissions.join(', '), `since ${created}`, lastUse(key.last_used_at)];
  if (key.expires_at) facts.push(`ends ${minuteOf(key.expires_at)}`);
  if (key.replaced_by) facts.push(`replaced by ${key.replaced_by}`);
  fill(card, '.key-facts', facts.filter((fact) => fact !== '').join(' · '));
  const days = lastDays(key.history);
  const made = days.reduce((sum, day) => sum + day.links, 0);
  card
    .querySelector('.shares')
    .append(
      share('This minute', key.requests.minute, usage.requests.minute),
      share('Today', key.requests.day, usage.requests.day),
      share('This month', key.requests.month, usage.requests.month),
      share('Links in 30 days', made, usage.links),
    );
  if (days.some((day) => day.requests + day.refused + day.links > 0)) {
    showHistory(card, days, key.name || key.id);
  } else {
    card.querySelector('.history').hidden = true;
    card.querySelector('.no-use').hidden = false;
  }
  showRefusals(card, key.recent_refusals ?? []);
  return card;
}

/** Servers write it once a minute at most; one that doesn't know of it sends nothing. */
function lastUse(time) {
  return time ? `last used ${minuteOf(time)}` : '';
}

function minuteOf(time) {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function showHistory(card, days, keyName) {
  const parts = ['requests', 'refused'];
  card.querySelector('.requests').show({ days, parts, title: `Requests a day with ${keyName}` });
  const title = `Links created a day with ${keyName}`;
  card.querySelector('.links').show({ days, parts: ['links'], title });
  addRows(
    card.querySelector('.days tbody'),
    days
      .toReversed()
      .map(({ date, ...counts }) => [
        date,
        ...[counts.requests, counts.refused, counts.links].map((count) => number.format(count)),
      ]),
  );
}

/** What this key used of a limit of the account; the paler part is what all keys used. */
function share(name, used, { used: total, limit }) {
  const item = document.createElement('li');
  const all = limit === null ? 'no limit' : `of ${number.format(limit)}`;
  const text = document.createElement('p');
  text.textContent = `${name}: ${number.format(used)} ${all}`;
  item.append(text);
  const meter = document.createElement('usage-meter');
  meter.show({ name, used, total, limit });
  item.append(meter);
  return item;
}

function showRefusals(card, refusals) {
  if (refusals.length === 0) return;
  card.querySelector('.no-refusals').hidden = true;
  card.querySelector('.refusals').hidden = false;
  addRows(
    card.querySelector('.refusals tbody'),
    refusals.map(({ minute, reason, count }) => [
      minute.slice(0, 16).replace('T', ' '),
      REASONS[reason] ?? reason,
      number.format(count),
    ]),
  );
}

/** Every one of the last 30 UTC days, also those without use, which the answer leaves out. */
function lastDays(history) {
  const byDate = new Map(history.map((day) => [day.date, day]));
  const today = Math.floor(Date.now() / DAY_MS) * DAY_MS;
  return Array.from({ length: HISTORY_DAYS }, (_, n) => {
    const date = new Date(today - (HISTORY_DAYS - 1 - n) * DAY_MS).toISOString().slice(0, 10);
    return byDate.get(date) ?? { date, requests: 0, refused: 0, links: 0 };
  });
}

function addRows(body, rows) {
  for (const cells of rows) {
    const row = body.insertRow();
    for (const cell of cells) row.insertCell().textContent = cell;
  }
}

function fromTemplate(id) {
  // Imported, not cloned: only then do the custom elements in it come to life at once.
  return document.importNode(byId(id).content, true).firstElementChild;
}

/** Always as text: names of keys are whatever somebody typed. */
function fill(parent, selector, text) {
  parent.querySelector(selector).textContent = text;
}
