import { html } from './html.js';
import { Component } from './preact.js';
import { count, dayName, number, total } from './words.js';

const compact = new Intl.NumberFormat('en-US', { notation: 'compact' });

/** What each part of a day is called. */
const PARTS = {
  requests: { noun: 'request', label: 'counted' },
  refused: { noun: 'refusal', label: 'refused' },
  links: { noun: 'link', label: 'created' },
};

/** How many days each key moves the chosen one. */
const STEPS = {
  ArrowLeft: -1,
  ArrowRight: 1,
  ArrowDown: -1,
  ArrowUp: 1,
  PageDown: -7,
  PageUp: 7,
};

/** Each day is so wide in the drawing's own unit, which is stretched to the room there is. */
const DAY_WIDTH = 10;

/**
 * A bar from 0 to a limit. `isNeutral` is for limits that are meant to be reached, such as the number of keys: they never turn
 * to a warning's colour.
 */
export function Meter({ name, used, limit, isNeutral }) {
  const share = limit === 0 ? 100 : Math.min(100, (used / limit) * 100);
  const level = isNeutral ? 'neutral' : share >= 100 ? 'full' : share >= 80 ? 'near' : '';
  const label = `${name}: ${number.format(used)} of ${number.format(limit)}`;
  return html`<svg class="meter ${level}" role="img" aria-label=${label}>
    <rect class="track" width="100%" height="100%" />
    <rect class="bar" width="${share}%" height="100%" />
  </svg>`;
}

/** The course of the requests of some days, without figures. */
export function Spark({ days }) {
  const top = Math.max(1, ...days.map((day) => day.requests + day.refused));
  return html`<svg class="spark" ...${drawing(days)}>${bars(days, ['requests', 'refused'], top)}</svg>`;
}

/**
 * Stacked bars, one a day. The figures of a day are read above the chart, for the day under the pointer or finger, or the one
 * that the arrow keys chose; otherwise for all days together.
 */
export class Chart extends Component {
  /** `isHeld`: a finger or a key has chosen the day, so that it stays until something else does. */
  state = { date: undefined, isHeld: false };

  render({ id, title, days, parts }, { date }) {
    const chosen = days.findIndex((day) => day.date === date);
    const most = Math.max(...days.map((day) => parts.reduce((sum, part) => sum + day[part], 0)));
    const ticks = ticksTo(most);
    const readout = read(days[chosen], days, parts);
    return html`<div class="chart" id=${id}>
      <p class="chart-head"><span class="chart-title">${title}</span> <span class="readout">${readout}</span></p>
      <div class="chart-frame" tabindex="0" role="slider" aria-label=${title} aria-valuemin="1"
        aria-valuemax=${days.length} aria-valuenow=${(chosen < 0 ? days.length - 1 : chosen) + 1} aria-valuetext=${readout}
        onKeyDown=${this.#press} onBlur=${() => this.#choose(-1, false)}
        onPointerDown=${this.#follow} onPointerMove=${this.#follow} onPointerLeave=${this.#leave}>
        <div class="plot">
          ${ticks.map((tick) => html`<span class="tick" style=${{ bottom: `${(tick / ticks.at(-1)) * 100}%` }}><span>${compact.format(tick)}</span></span>`)}
          <svg ...${drawing(days)}>
            ${chosen >= 0 && html`<rect class="chosen" x=${chosen * DAY_WIDTH} width=${DAY_WIDTH} height="100" />`}
            ${bars(days, parts, ticks.at(-1))}
          </svg>
          ${labelled(days).map(({ place, text, kind }) => html`<span class="date ${kind}" style=${{ left: `${place}%` }}>${text}</span>`)}
        </div>
      </div>
      ${parts.length > 1 && html`<p class="legend muted">${parts.map((part) => html`<span class="swatch ${part}"></span>${PARTS[part].label} `)}</p>`}
    </div>`;
  }

  #choose(day, isHeld) {
    this.setState({ date: this.props.days[day]?.date, isHeld });
  }

  #press = (event) => {
    const { days } = this.props;
    const last = days.length - 1;
    const chosen = days.findIndex((day) => day.date === this.state.date);
    const step = STEPS[event.key];
    let to;
    if (event.key === 'Home') to = 0;
    else if (event.key === 'End') to = last;
    else if (event.key === 'Escape') to = -1;
    else if (step === undefined) return;
    else to = Math.min(last, Math.max(0, (chosen < 0 ? last + (step < 0 ? 1 : 0) : chosen) + step));
    event.preventDefault();
    this.#choose(to, to >= 0);
  };

  #follow = ({ pointerType, type, clientX, currentTarget }) => {
    const isTouch = pointerType === 'touch';
    if (this.state.isHeld && !isTouch && type === 'pointermove') return;
    const { left, width } = currentTarget.querySelector('svg').getBoundingClientRect();
    const { length } = this.props.days;
    const day = Math.floor(((clientX - left) / width) * length);
    this.#choose(Math.min(length - 1, Math.max(0, day)), isTouch);
  };

  #leave = () => {
    if (!this.state.isHeld) this.#choose(-1, false);
  };
}

function read(chosen, days, parts) {
  const amount = (part) => (chosen === undefined ? total(days, part) : chosen[part]);
  const words = parts.map((part) => count(amount(part), PARTS[part].noun)).join(', ');
  return `${chosen === undefined ? `${days.length} days` : dayName(chosen.date)}: ${words}`;
}

const drawing = (days) => ({
  viewBox: `0 0 ${days.length * DAY_WIDTH} 100`,
  preserveAspectRatio: 'none',
  'aria-hidden': 'true',
});

/** `parts` are stacked, the first one at the bottom. Whatever is not nothing can be seen. */
function bars(days, parts, top) {
  return days.map((day, n) => {
    let from = 100;
    return parts.map((part) => {
      const height = day[part] > 0 ? Math.max(1, (day[part] / top) * 100) : 0;
      from -= height;
      return html`<rect class="bar ${part}" x=${n * DAY_WIDTH + 1} width=${DAY_WIDTH - 2} y=${from} height=${height} />`;
    });
  });
}

/** Three to five round figures from 0 up to the most or above. */
function ticksTo(most) {
  const power = 10 ** Math.floor(Math.log10(Math.max(4, most) / 4));
  const step = [1, 2, 5, 10].map((n) => n * power).find((size) => size * 4 >= most);
  const steps = Math.max(2, Math.ceil(most / step));
  return Array.from({ length: steps + 1 }, (_, n) => n * step);
}

/** The last day, which is today, and up to four before it at even distances. */
function labelled(days) {
  const last = days.length - 1;
  const step = days.length > 14 ? Math.ceil(days.length / 35) * 7 : 2;
  const places = Array.from({ length: Math.floor(last / step) + 1 }, (_, n) => last - n * step);
  return places.map((day, n) => ({
    place: ((day + 0.5) / days.length) * 100,
    text: n === 0 ? 'today' : dayName(days[day].date),
    kind: n % 2 === 1 ? 'wide' : '',
  }));
}
