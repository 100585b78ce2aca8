const CHART_HEIGHT = 150;
/** Room for the numbers at the left of a chart, and for the dates under it, in pixels. */
const CHART_LEFT = 44;
const CHART_BOTTOM = 22;
/** Space over the highest bar and between bars, in pixels. */
const CHART_TOP = 8;
const BAR_GAP = 2;

const number = new Intl.NumberFormat('en-US');
const compact = new Intl.NumberFormat('en-US', { notation: 'compact' });
const shortDate = new Intl.DateTimeFormat('en-US', {
  month: 'short',
  day: 'numeric',
  timeZone: 'UTC',
});

/** `<usage-meter>`: a bar from 0 to a limit; nothing where there is no limit. */
class UsageMeter extends HTMLElement {
  /** `total` is what all keys used together: the paler bar under the key's own. */
  show({ name, used, total = used, limit }) {
    if (limit === null) return;
    const percent = (value) => (limit === 0 ? 100 : Math.min(100, (value / limit) * 100));
    const level = percent(total) >= 100 ? 'full' : percent(total) >= 80 ? 'near' : '';
    const drawing = svg('svg', {
      class: level,
      role: 'img',
      'aria-label': `${name}: ${number.format(used)} of ${number.format(limit)}`,
    });
    const bar = (kind, width) => svg('rect', { class: kind, width: `${width}%`, height: '100%' });
    drawing.append(bar('track', 100), bar('account', percent(total)), bar('bar', percent(used)));
    this.replaceChildren(drawing);
  }
}

/** `<usage-chart>`: stacked bars, one a day. Drawn for the width it has, so that its text stays readable on a phone. */
class UsageChart extends HTMLElement {
  #content;
  #width = 0;

  show(content) {
    this.#content = content;
    new ResizeObserver(() => this.#draw()).observe(this);
  }

  #draw() {
    const width = this.clientWidth;
    if (width === this.#width || width === 0) return;
    this.#width = width;
    const { days, parts, title } = this.#content;
    const sums = days.map((day) => parts.reduce((sum, part) => sum + day[part], 0));
    const top = roundUp(Math.max(...sums));
    const bottom = CHART_HEIGHT - CHART_BOTTOM;
    const y = (value) => bottom - (value / top) * (bottom - CHART_TOP);
    const step = (width - CHART_LEFT) / days.length;
    const total = number.format(sums.reduce((all, sum) => all + sum, 0));
    const chart = svg('svg', {
      viewBox: `0 0 ${width} ${CHART_HEIGHT}`,
      role: 'img',
      'aria-label': `${title}: ${total} in ${days.length} days. The table below has each day.`,
    });
    for (const value of [0, top / 2, top]) {
      const at = { x: CHART_LEFT - 8, y: y(value) + 4, 'text-anchor': 'end' };
      chart.append(
        svg('line', { class: 'grid', x1: CHART_LEFT, x2: width, y1: y(value), y2: y(value) }),
        svg('text', at, compact.format(value)),
      );
    }
    chart.append(...days.map((day, n) => dayBars(day, parts, CHART_LEFT + n * step, step, y)));
    const middle = Math.floor(days.length / 2);
    const dates = [
      [0, CHART_LEFT, 'start'],
      [middle, CHART_LEFT + (middle + 0.5) * step, 'middle'],
      [days.length - 1, width, 'end'],
    ];
    for (const [n, x, anchor] of dates) {
      const at = { x, y: CHART_HEIGHT - 4, 'text-anchor': anchor };
      chart.append(svg('text', at, shortDate.format(new Date(days[n].date))));
    }
    this.replaceChildren(chart);
  }
}

/** The parts of one day, one on the other, with the figures for a pointer that rests on them. */
function dayBars(day, parts, x, step, y) {
  const bars = svg('g', {});
  const words = parts.map((part) => `${number.format(day[part])} ${part}`).join(', ');
  bars.append(svg('title', {}, `${day.date}: ${words}`));
  let from = 0;
  for (const part of parts) {
    const to = from + day[part];
    const width = Math.max(1, step - BAR_GAP);
    const place = { x: x + BAR_GAP / 2, width, y: y(to), height: y(from) - y(to) };
    bars.append(
      svg('rect', { ...place, rx: 1, class: part === 'refused' ? 'bar refused' : 'bar' }),
    );
    from = to;
  }
  return bars;
}

/** The next of 2, 4, 10, 20, 40, 100 and so on: half of it is a whole number too. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [2, 4, 10, 20].map((factor) => factor * power).find((candidate) => candidate >= value);
}

function svg(name, attributes, text = '') {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}

customElements.define('usage-meter', UsageMeter);
customElements.define('usage-chart', UsageChart);
