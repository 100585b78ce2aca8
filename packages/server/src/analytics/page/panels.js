import { Chart, Meter } from './charts.js';
import { html, StillComponent } from './html.js';
import { Keys } from './keys.js';
import {
  dateOf,
  duration,
  lastDays,
  noticeOf,
  number,
  percent,
  utcTime,
  withoutScheme,
} from './words.js';

const PERIODS = [7, 30, 90];

export function SignIn({ field, error, isBusy, isRemembered, onSubmit, onRemember }) {
  return html`
    <p class="muted">What your account and each of its API keys use of the plan.</p>
    <form class="card" novalidate onSubmit=${onSubmit}>
      <label for="key">API key</label>
      <div class="row">
        <input id="key" ref=${field} type="password" required autocomplete="off" autocapitalize="none" spellcheck=${false}
          maxlength="256" aria-describedby="key-error key-help" aria-invalid=${String(error !== '')} />
        <button type="submit" aria-disabled=${isBusy || undefined}>Show usage</button>
      </div>
      <p id="key-error" class="error" role="alert" hidden=${error === ''}>${error}</p>
      <label class="check"><input type="checkbox" checked=${isRemembered} onChange=${onRemember} /> Remember until this tab is closed</label>
      <p id="key-help" class="muted">Any valid key of the account. It is sent to this service only, and the service stores a hash of it, never the key.</p>
    </form>`;
}

/** Everything that is shown of an account. */
export function Account({ usage, error, heading, now, aheadMs, askedAt, isBusy, isPaused, ...on }) {
  const { account_name, plan, links, top_links } = usage;
  const serviceNow = now + aheadMs;
  const today = dateOf(serviceNow);
  const isEmpty = links.used === 0 && usage.history.length === 0;
  const name = `${plan.charAt(0).toUpperCase()}${plan.slice(1)} plan`;
  const time = utcTime(new Date(askedAt + aheadMs).toISOString(), serviceNow);
  return html`<div id="usage">
    <div class="toolbar">
      <h2 id="account-heading" tabindex="-1" ref=${heading}>${account_name && `${account_name} · `}${name}</h2>
      <p id="status" role="status" class="muted">As of ${time}${isPaused && ', paused'}</p>
      <button id="refresh" type="button" class="quiet" aria-disabled=${isBusy || undefined} onClick=${on.onRefresh}>Refresh</button>
      <button id="pause" type="button" class="quiet" onClick=${on.onPause}>${isPaused ? 'Resume updates' : 'Pause updates'}</button>
      <button id="sign-out" type="button" class="quiet" onClick=${on.onSignOut}>Sign out</button>
    </div>
    <p id="problem" class="error card" role="alert" hidden=${error === ''}>${error}</p>
    <${Notice} usage=${usage} wait=${({ resets_at }) => waitUntil(resets_at, serviceNow, isPaused)} />
    ${isEmpty && html`<${Welcome} />`}
    <${Limits} usage=${usage} wait=${({ resets_at }) => waitUntil(resets_at, serviceNow, isPaused)} />
    ${!isEmpty && html`<${History} usage=${usage} today=${today} />`}
    ${!isEmpty && top_links && html`<${TopLinks} links=${top_links} />`}
    <section class="card" aria-labelledby="keys-heading">
      <h2 id="keys-heading">API keys</h2>
      <p class="muted">Requests of this month; refusals and links of the last 30 days.</p>
      <${Keys} keys=${usage.keys} today=${today} minute=${Math.floor(serviceNow / 60_000)} />
    </section>
  </div>`;
}

/** A page that stands still says when a window ends, since it doesn't count down. */
function waitUntil(resetsAt, serviceNow, isPaused) {
  if (isPaused) return `resets at ${utcTime(resetsAt, serviceNow)}`;
  const ms = Date.parse(resetsAt) - serviceNow;
  return ms > 0 ? `resets in ${duration(ms)}` : 'resets now';
}

/** The sentence is read aloud when it changes; the wait, which changes each second, is not part of it. */
function Notice({ usage, wait }) {
  const { text, isReached, window } = noticeOf(usage.requests, usage.links) ?? {};
  return html`<p id="notice" class="notice card ${isReached && 'full'}" hidden=${text === undefined}>
    <span id="notice-text" role="status">${text}</span> <span id="notice-wait">${window && `It ${wait(window)}.`}</span>
  </p>`;
}

function Welcome() {
  return html`<section class="card welcome" aria-labelledby="welcome-heading">
    <h3 id="welcome-heading">Create the first link</h3>
    <p>Nothing has been shortened with this account yet. Two commands in a terminal do it:</p>
    <pre><code>npx @shortlink/cli auth login --base-url ${location.origin}</code></pre>
    <pre><code>npx @shortlink/cli create https://example.com/docs</code></pre>
    <p class="muted">The first one asks for the API key. Refresh this page to see the link counted.</p>
  </section>`;
}

/** The two limits that last longest are large. */
function Limits({ usage, wait }) {
  const { requests, links, api_keys, batch_size } = usage;
  const batch = number.format(batch_size ?? 10_000);
  return html`<ul id="limits" aria-label="Limits of the plan">
    <${Limit} large name="Links in total" ...${links} />
    <${Limit} large name="Requests this month" ...${requests.month} wait=${wait} />
    <${Limit} name="Requests this minute" ...${requests.minute} wait=${wait} />
    <${Limit} name="Requests today" ...${requests.day} wait=${wait} />
    <${Limit} name="API keys" ...${api_keys} isNeutral />
    <li class="card limit">
      <h3>Links in one batch</h3>
      <p class="figure"><span class="used">${batch}</span> <span class="muted">at most</span></p>
    </li>
  </ul>`;
}

function Limit({ name, used, limit, resets_at, wait, large, isNeutral }) {
  const share = limit !== null && !isNeutral && `${percent(used, limit)} used`;
  return html`<li class="card limit ${large && 'large'}">
    <h3>${name}</h3>
    <p class="figure">
      <span class="used">${number.format(used)}</span> <span class="muted">${limit === null ? 'no limit' : `of ${number.format(limit)}`}</span>
    </p>
    ${limit !== null && html`<${Meter} ...${{ name, used, limit, isNeutral }} />`}
    <p class="note muted">${[share, wait?.({ resets_at })].filter(Boolean).join(', ')}</p>
  </li>`;
}

class History extends StillComponent {
  state = { length: 30, isOpen: false };

  render({ usage, today }, { length, isOpen }) {
    const days = lastDays(usage.history, length, today);
    return html`<section id="history" class="card" aria-labelledby="history-heading">
      <div class="section-head">
        <h2 id="history-heading">History</h2>
        <p class="muted">Days in UTC</p>
        <fieldset class="choices" aria-label="Period">${PERIODS.map(
          (period) =>
            html`<button type="button" aria-pressed=${String(period === length)} onClick=${() => this.setState({ length: period })}>${period} days</button>`,
        )}</fieldset>
      </div>
      <${Chart} id="account-requests" title="Requests a day" days=${days} parts=${['requests', 'refused']} />
      <${Chart} id="account-links" title="Links created a day" days=${days} parts=${['links']} />
      <button type="button" class="fold" aria-expanded=${String(isOpen)} aria-controls="days" onClick=${() => this.setState({ isOpen: !isOpen })}>These days as a table</button>
      <table id="days" class=${isOpen ? '' : 'folded'}>
        <thead><tr><th scope="col">Day (UTC)</th><th scope="col">Requests</th><th scope="col">Refused</th><th scope="col">Links</th></tr></thead>
        <tbody id="account-days">${days.toReversed().map(
          (day) => html`<tr key=${day.date}>
            <td>${day.date}</td><td>${number.format(day.requests)}</td><td>${number.format(day.refused)}</td><td>${number.format(day.links)}</td>
          </tr>`,
        )}</tbody>
      </table>
    </section>`;
  }
}

function TopLinks({ links }) {
  return html`<section id="top-links" class="card" aria-labelledby="top-links-heading">
    <h2 id="top-links-heading">Most clicked links</h2>
    <p class="muted">${links.length === 0 ? 'No link was clicked yet.' : 'Clicks since each link was created.'}</p>
    ${
      links.length > 0 &&
      html`<table class="top-links">
        <thead><tr><th scope="col">Link</th><th scope="col" class="wide">Leads to</th><th scope="col">Clicks</th></tr></thead>
        <tbody id="top-links-rows">${links.map(
          ({ code, short_url, target_url, title, click_count }) => {
            const target = withoutScheme(target_url);
            // Where there is no column for targets, a link without a title shows its target below.
            return html`<tr key=${code}>
            <td><a href=${short_url} target="_blank" rel="noreferrer">${withoutScheme(short_url)}</a><span dir="auto" class="cut ${title ? '' : 'narrow'}">${title || target}</span></td>
            <td class="wide"><span class="cut" title=${target_url}>${target}</span></td>
            <td>${number.format(click_count)}</td>
          </tr>`;
          },
        )}</tbody>
      </table>`
    }
  </section>`;
}
