import { Chart, Spark } from './charts.js';
import { html, StillComponent } from './html.js';
import { ago, count, dateName, lastDays, number, total } from './words.js';

const DAYS = 30;

/** So many unused keys, or more, are folded into one row. */
const FOLDED = 2;

const REASONS = {
  minute: 'Requests a minute',
  day: 'Requests a day',
  month: 'Requests a month',
  links: 'Links in total',
  batch_size: 'Links in one batch',
};

/** `first`: how a column is sorted at first, names upwards and amounts downwards. */
const COLUMNS = [
  { id: 'name', title: 'Key', first: 1 },
  { id: 'month', title: 'This month', first: -1 },
  { id: 'refused', title: 'Refused', first: -1, kind: 'wide' },
  { id: 'links', title: 'Links', first: -1, kind: 'wide' },
  { id: 'lastUsed', title: 'Last used', first: -1, kind: 'wide' },
];

/** A row for each key, which opens to show more of it, one at a time. */
export class Keys extends StillComponent {
  state = { sortedBy: COLUMNS[1], direction: -1, openId: undefined, isUnfolded: false };

  render({ keys, today, minute }, { sortedBy, direction, openId, isUnfolded }) {
    const rows = keys
      .map((key) => rowOf(key, today))
      .toSorted((a, b) => direction * compare(a[sortedBy.id], b[sortedBy.id]));
    const unused = rows.filter((row) => !row.isUsed);
    const isFolding = unused.length >= FOLDED && unused.length < rows.length;
    const show = (row) => html`<${Row} key=${row.key.id} row=${row} now=${minute * 60_000}
      isOpen=${row.key.id === openId} onToggle=${this.#toggle} />`;
    return html`<table class="keys">
      <thead><tr>
        ${COLUMNS.map((column) => {
          const order = direction > 0 ? 'ascending' : 'descending';
          return html`<th scope="col" class=${column.kind} aria-sort=${column === sortedBy ? order : undefined}>
            <button type="button" onClick=${() => this.#sortBy(column)}>${column.title}</button>
          </th>`;
        })}
        <th scope="col" class="trend">30 days</th>
      </tr></thead>
      <tbody>
        ${(isFolding ? rows.filter((row) => row.isUsed) : rows).map(show)}
        ${
          isFolding &&
          html`<tr key="unused"><th scope="row" colspan="6">
            <button type="button" class="fold" aria-expanded=${String(isUnfolded)} onClick=${() => this.setState({ isUnfolded: !isUnfolded })}>${unused.length} keys without use in ${DAYS} days</button>
          </th></tr>`
        }
        ${isFolding && isUnfolded && unused.map(show)}
      </tbody>
    </table>`;
  }

  #sortBy(column) {
    const isSame = column === this.state.sortedBy;
    const direction = isSame ? -this.state.direction : column.first;
    this.setState({ sortedBy: column, direction });
  }

  #toggle = (id) => this.setState({ openId: this.state.openId === id ? undefined : id });
}

function rowOf(key, today) {
  const days = lastDays(key.history, DAYS, today);
  const { month } = key.requests;
  return {
    key,
    days,
    name: key.name || key.id,
    month,
    refused: total(days, 'refused'),
    links: total(days, 'links'),
    lastUsed: key.last_used_at ?? key.history.at(-1)?.date ?? '',
    isUsed: month > 0 || days.some(isUsed),
  };
}

const isUsed = (day) => day.requests + day.refused + day.links > 0;

function Row({ row, now, isOpen, onToggle }) {
  const lastUsed = ago(row.lastUsed, now);
  return html`
    <tr>
      <th scope="row"><button type="button" class="fold open" aria-expanded=${String(isOpen)} onClick=${() => onToggle(row.key.id)}>${row.name}</button></th>
      <td>${number.format(row.month)}</td>
      <td class="wide">${number.format(row.refused)}</td>
      <td class="wide">${number.format(row.links)}</td>
      <td class="wide">${lastUsed}</td>
      <td class="trend"><${Spark} days=${row.days} /></td>
    </tr>
    ${isOpen && html`<tr class="detail"><td colspan="6"><${Detail} ...${{ row, now, lastUsed }} /></td></tr>`}`;
}

function Detail({ row, now, lastUsed }) {
  const { key, days, name } = row;
  const { minute, day, month } = key.requests;
  const facts = [
    ['Id', key.id],
    ['Permissions', key.permissions.join(', ')],
    ['Created', dateName(key.created_at, now)],
    ...(key.expires_at ? [['Expires', dateName(key.expires_at, now)]] : []),
    ['Last used', lastUsed],
    [
      'Requests',
      `${number.format(minute)} this minute, ${number.format(day)} today, ${number.format(month)} this month`,
    ],
    ['30 days', `${count(row.refused, 'refusal')}, ${count(row.links, 'link')} created`],
  ];
  return html`
    <dl class="facts">${facts.map(([term, text]) => html`<div><dt>${term}</dt><dd>${text}</dd></div>`)}</dl>
    ${
      days.some(isUsed)
        ? html`<${Chart} title="Requests of ${name}" days=${days} parts=${['requests', 'refused']} />`
        : html`<p class="muted">This key was not used in the last ${DAYS} days.</p>`
    }
    <h3>Recent refusals</h3>
    <${Refusals} refusals=${key.recent_refusals ?? []} />`;
}

function Refusals({ refusals }) {
  if (refusals.length === 0) return html`<p class="muted">None in the last 7 days.</p>`;
  return html`<table class="refusals">
    <thead><tr><th scope="col">Minute (UTC)</th><th scope="col">Limit</th><th scope="col">Refused</th></tr></thead>
    <tbody>${refusals.map(
      ({ minute, reason, count: refused }) => html`<tr key=${`${minute} ${reason}`}>
        <td>${minute.slice(0, 16).replace('T', ' ')}</td><td>${REASONS[reason] ?? reason}</td><td>${number.format(refused)}</td>
      </tr>`,
    )}</tbody>
  </table>`;
}

function compare(a, b) {
  return typeof a === 'string' ? a.localeCompare(b, 'en') : a - b;
}
