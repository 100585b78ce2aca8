import { count, dayName, number, total } from './words.js';

const CHART_HEIGHT = 170;
const compact = new Intl.NumberFormat('en-US', { notation: 'compact' });

/** What each part of a day is called, and the variable of its colour. */
const PARTS = {
  requests: { noun: 'request', label: 'counted', color: '--accent' },
  refused: { noun: 'refusal', label: 'refused', color: '--full' },
  links: { noun: 'link', label: 'created', color: '--accent' },
};

/**
 * `<usage-meter>`: a bar from 0 to a limit; nothing where there is no limit. `isNeutral` is for limits that are meant to be
 * reached, such as the number of keys: they never turn to a warning's colour.
 */
class UsageMeter extends HTMLElement {
  show({ name, used, limit, isNeutral = false }) {
    if (limit === null) return;
    const share = limit === 0 ? 100 : Math.min(100, (used / limit) * 100);
    const level = isNeutral ? 'neutral' : share >= 100 ? 'full' : share >= 80 ? 'near' : '';
    const label = `${name}: ${number.format(used)} of ${number.format(limit)}`;
    const drawing = svg('svg', { class: level, role: 'img', 'aria-label': label });
    const bar = (kind, width) => svg('rect', { class: kind, width: `${width}%`, height: '100%' });
    drawing.append(bar('track', 100), bar('bar', share));
    this.replaceChildren(drawing);
  }
}

/** `<usage-spark>`: the course of the requests of some days, without figures. */
class UsageSpark extends HTMLElement {
  show(days) {
    const top = Math.max(1, ...days.map((day) => day.requests + day.refused));
    const drawing = svg('svg', {
      viewBox: `0 0 ${days.length * 4} 28`,
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    });
    days.forEach((day, n) => {
      const height = (amount) => (amount > 0 ? Math.max(1, (amount / top) * 27) : 0);
      const counted = height(day.requests);
      const refused = height(day.refused);
      const bar = { x: n * 4, width: 3 };
      drawing.append(
        svg('rect', { ...bar, class: 'bar', y: 28 - counted, height: counted }),
        svg('rect', { ...bar, class: 'bar refused', y: 28 - counted - refused, height: refused }),
      );
    });
    this.replaceChildren(drawing);
  }
}

/**
 * `<usage-chart>`: stacked bars, one a day. The figures of a day are read above the chart, for the day under the pointer or
 * finger, or the one that the arrow keys chose; otherwise for all days together.
 */
class UsageChart extends HTMLElement {
  #content;
  #plot;
  #readout;
  #selected = null;
  /** A finger or a key has chosen the day: it stays until something else does. */
  #isHeld = false;

  connectedCallback() {
    this.#observer.observe(this);
    this.#dark.addEventListener('change', this.#draw);
  }

  disconnectedCallback() {
    this.#observer.disconnect();
    this.#dark.removeEventListener('change', this.#draw);
  }

  /** `parts` are stacked, the first one at the bottom. */
  show({ days, parts, title }) {
    this.#content = { days, parts, title };
    this.#selected = null;
    this.#draw();
  }

  clear() {
    this.#plot?.destroy();
    this.#plot = undefined;
    this.#content = undefined;
    this.replaceChildren();
  }

  #dark = matchMedia('(prefers-color-scheme: dark)');
  #observer = new ResizeObserver(() => {
    if (this.#plot === undefined) this.#draw();
    else this.#plot.setSize({ width: this.clientWidth, height: CHART_HEIGHT });
  });

  #draw = () => {
    if (this.#content === undefined || this.clientWidth === 0) return;
    const { days, parts, title } = this.#content;
    this.#plot?.destroy();
    const head = element('p', 'chart-head');
    const name = element('span', 'chart-title');
    name.textContent = title;
    this.#readout = element('span', 'readout');
    head.append(name, this.#readout);
    const frame = element('div', 'chart-frame');
    const legend = parts.length > 1 ? [legendOf(parts)] : [];
    this.replaceChildren(head, frame, ...legend);
    // The library does not start in a browser with a language tag that it can't read: then the figures stand alone.
    if (globalThis.uPlot === undefined) {
      this.replaceChildren(head);
      this.#read();
      return;
    }
    this.#plot = new globalThis.uPlot(this.#options(), stack(days, parts), frame);
    this.#makeSteerable(frame);
    this.#read();
  };

  #options() {
    const { days, parts } = this.#content;
    const color = (variable) => getComputedStyle(this).getPropertyValue(variable).trim();
    const line = { stroke: color('--line'), width: 1 };
    const axis = { stroke: color('--muted'), font: '12px system-ui', ticks: { show: false } };
    const bars = globalThis.uPlot.paths.bars({ size: [0.8, 36], radius: 0.1 });
    return {
      width: this.clientWidth,
      height: CHART_HEIGHT,
      padding: [8, 8, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: {
        x: { time: false, range: [-0.6, days.length - 0.4] },
        y: { range: (_, __, most) => [0, Math.max(most * 1.05, 4)] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 26,
          incrs: [1, 2, 5, 7, 10, 15, 30],
          space: 56,
          values: (_, places) => places.map((n) => (days[n] ? dayName(days[n].date) : '')),
        },
        {
          ...axis,
          grid: line,
          size: 44,
          space: 36,
          incrs: [1, 2, 5, 10, 20, 50, ...[1, 2, 5].flatMap((n) => powers(n))],
          values: (_, values) => values.map((value) => compact.format(value)),
        },
      ],
      // The tallest stack is drawn first, and the lower parts over it.
      series: [
        {},
        ...parts.toReversed().map((part) => ({
          fill: color(PARTS[part].color),
          width: 0,
          points: { show: false },
          paths: bars,
        })),
      ],
      hooks: {
        setCursor: [(plot) => this.#isHeld || this.#select(plot.cursor.idx ?? null)],
      },
    };
  }

  /** Arrow keys and a moving finger choose a day, as a pointer does by itself. */
  #makeSteerable(frame) {
    const { days, title } = this.#content;
    Object.assign(frame, { tabIndex: 0, role: 'slider', ariaLabel: title });
    frame.setAttribute('aria-valuemin', '1');
    frame.setAttribute('aria-valuemax', String(days.length));
    const steps = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowDown: -1,
      ArrowUp: 1,
      PageDown: -7,
      PageUp: 7,
    };
    frame.addEventListener('keydown', (event) => {
      const last = days.length - 1;
      const from = this.#selected ?? last + (steps[event.key] < 0 ? 1 : 0);
      let to;
      if (event.key === 'Home') to = 0;
      else if (event.key === 'End') to = last;
      else if (event.key === 'Escape') to = null;
      else if (steps[event.key] !== undefined)
        to = Math.min(last, Math.max(0, from + steps[event.key]));
      else return;
      event.preventDefault();
      this.#isHeld = to !== null;
      this.#point(to);
    });
    frame.addEventListener('blur', () => {
      this.#isHeld = false;
      this.#point(null);
    });
    const follow = ({ pointerType, clientX }) => {
      this.#isHeld = pointerType === 'touch';
      if (!this.#isHeld) return;
      const left = clientX - this.#plot.over.getBoundingClientRect().left;
      const day = Math.round(this.#plot.posToVal(left, 'x'));
      this.#point(Math.min(days.length - 1, Math.max(0, day)));
    };
    frame.addEventListener('pointerdown', follow);
    frame.addEventListener('pointermove', follow);
  }

  #point(day) {
    const left = day === null ? -10 : this.#plot.valToPos(day, 'x');
    this.#plot.setCursor({ left, top: day === null ? -10 : 0 });
    this.#select(day);
  }

  #select(day) {
    if (day === this.#selected) return;
    this.#selected = day;
    this.#read();
  }

  #read() {
    const { days, parts } = this.#content;
    const chosen = this.#selected === null ? undefined : days[this.#selected];
    const amount = (part) => (chosen === undefined ? total(days, part) : chosen[part]);
    const words = parts.map((part) => count(amount(part), PARTS[part].noun)).join(', ');
    const when = chosen === undefined ? `${days.length} days` : dayName(chosen.date);
    this.#readout.textContent = `${when}: ${words}`;
    const frame = this.querySelector('.chart-frame');
    if (frame === null) return;
    frame.setAttribute('aria-valuenow', String((this.#selected ?? days.length - 1) + 1));
    frame.setAttribute('aria-valuetext', this.#readout.textContent);
  }
}

/** Columns for the chart: places, then the sums of all parts, of all but the last, and so on. */
function stack(days, parts) {
  const sums = parts.map((_, n) =>
    days.map((day) => parts.slice(0, n + 1).reduce((sum, part) => sum + day[part], 0)),
  );
  return [days.map((_, n) => n), ...sums.toReversed()];
}

function powers(factor) {
  return Array.from({ length: 8 }, (_, n) => factor * 10 ** (n + 2));
}

function legendOf(parts) {
  const legend = element('p', 'legend muted');
  for (const part of parts)
    legend.append(element('span', `swatch ${part}`), `${PARTS[part].label} `);
  return legend;
}

function element(name, className) {
  return Object.assign(document.createElement(name), { className });
}

function svg(name, attributes) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

customElements.define('usage-meter', UsageMeter);
customElements.define('usage-spark', UsageSpark);
customElements.define('usage-chart', UsageChart);
