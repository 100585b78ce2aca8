import { addRows, ago, count, dayName, fromTemplate, lastDays, number, total } from './words.js';

const DAYS = 30;

const REASONS = {
  minute: 'Requests a minute',
  day: 'Requests a day',
  month: 'Requests a month',
  links: 'Links in total',
  batch_size: 'Links in one batch',
};

/** How a column is sorted at first: names upwards, amounts downwards. */
const FIRST_DIRECTION = { name: 1, month: -1, refused: -1, links: -1, lastUsed: -1 };

/** `<usage-keys>`: a row for each key, which opens to show more of it, one at a time. */
class UsageKeys extends HTMLElement {
  #rows = [];
  #sortedBy = 'month';
  #direction = -1;
  #openId;

  show(keys) {
    this.#rows = keys.map((key) => {
      const days = lastDays(key.history, DAYS);
      return {
        key,
        days,
        name: key.name || key.id,
        month: key.requests.month,
        refused: total(days, 'refused'),
        links: total(days, 'links'),
        lastUsed: key.last_used_at ?? key.history.at(-1)?.date ?? '',
      };
    });
    if (this.querySelector('table') === null) {
      this.replaceChildren(fromTemplate('keys-template'));
      for (const button of this.querySelectorAll('thead button')) {
        button.addEventListener('click', () => this.#sortBy(button.value));
      }
    }
    this.#fill();
  }

  clear() {
    this.#rows = [];
    this.#openId = undefined;
    this.replaceChildren();
  }

  #sortBy(column) {
    this.#direction = column === this.#sortedBy ? -this.#direction : FIRST_DIRECTION[column];
    this.#sortedBy = column;
    this.#fill();
  }

  #fill() {
    const column = this.#sortedBy;
    const sorted = this.#rows.toSorted((a, b) => this.#direction * compare(a[column], b[column]));
    for (const button of this.querySelectorAll('thead button')) {
      const order = this.#direction > 0 ? 'ascending' : 'descending';
      const heading = button.closest('th');
      if (button.value === column) heading.setAttribute('aria-sort', order);
      else heading.removeAttribute('aria-sort');
    }
    this.querySelector('tbody').replaceChildren(...sorted.flatMap((row) => this.#rowsOf(row)));
  }

  #rowsOf(row) {
    const isOpen = row.key.id === this.#openId;
    const line = document.createElement('tr');
    const button = Object.assign(document.createElement('button'), {
      type: 'button',
      className: 'open',
      value: row.key.id,
      textContent: row.name,
      ariaExpanded: String(isOpen),
    });
    button.addEventListener('click', () => this.#toggle(row.key.id));
    const name = Object.assign(document.createElement('th'), { scope: 'row' });
    name.append(button);
    const spark = document.createElement('usage-spark');
    line.append(
      name,
      cell(number.format(row.month)),
      cell(number.format(row.refused), 'wide'),
      cell(number.format(row.links), 'wide'),
      cell(ago(row.lastUsed), 'wide'),
      cell(spark, 'trend'),
    );
    spark.show(row.days);
    return isOpen ? [line, detailRow(row)] : [line];
  }

  #toggle(id) {
    this.#openId = this.#openId === id ? undefined : id;
    this.#fill();
    // The rows were made anew: the one that was pressed keeps the focus.
    const buttons = [...this.querySelectorAll('button.open')];
    buttons.find((button) => button.value === id)?.focus();
  }
}

function detailRow(row) {
  const { key, days, name } = row;
  const line = Object.assign(document.createElement('tr'), { className: 'detail' });
  const detail = Object.assign(document.createElement('td'), { colSpan: 6 });
  detail.append(fromTemplate('key-detail-template'));
  line.append(detail);
  const facts = [
    ['Id', key.id],
    ['Permissions', key.permissions.join(', ')],
    ['Created', dayName(key.created_at)],
    ...(key.expires_at ? [['Expires', dayName(key.expires_at)]] : []),
    ['Last used', ago(row.lastUsed)],
    [
      'Requests',
      `${number.format(key.requests.minute)} this minute, ${number.format(key.requests.day)} today, ${number.format(key.requests.month)} this month`,
    ],
    ['30 days', `${count(row.refused, 'refusal')}, ${count(row.links, 'link')} created`],
  ];
  const list = detail.querySelector('.facts');
  for (const [term, text] of facts) {
    const pair = document.createElement('div');
    pair.append(
      Object.assign(document.createElement('dt'), { textContent: term }),
      Object.assign(document.createElement('dd'), { textContent: text }),
    );
    list.append(pair);
  }
  const chart = detail.querySelector('usage-chart');
  if (days.some((day) => day.requests + day.refused + day.links > 0)) {
    chart.show({ days, parts: ['requests', 'refused'], title: `Requests of ${name}` });
  } else {
    chart.remove();
    detail.querySelector('.no-use').hidden = false;
  }
  const refusals = key.recent_refusals ?? [];
  if (refusals.length > 0) {
    detail.querySelector('.no-refusals').hidden = true;
    detail.querySelector('.refusals').hidden = false;
    addRows(
      detail.querySelector('.refusals tbody'),
      refusals.map(({ minute, reason, count: refused }) => [
        minute.slice(0, 16).replace('T', ' '),
        REASONS[reason] ?? reason,
        number.format(refused),
      ]),
    );
  }
  return line;
}

function cell(content, className = '') {
  const made = Object.assign(document.createElement('td'), { className });
  made.append(content);
  return made;
}

function compare(a, b) {
  return typeof a === 'string' ? a.localeCompare(b, 'en') : a - b;
}

customElements.define('usage-keys', UsageKeys);
