import { html } from './html.js';
import { Account, SignIn } from './panels.js';
import { Component, createRef, render } from './preact.js';

const STORED_KEY = 'shortlink-api-key';

/** After a window has ended, the service gets this long to begin the next one, in milliseconds. */
const AFTER_RESET_MS = 500;

/** The page asks by itself no more often than this, in milliseconds, whatever the two clocks say. */
const LEAST_REFETCH_MS = 10_000;

/** A service that has not sent its whole response by then is reported as one that doesn't respond, in milliseconds. */
const PATIENCE_MS = 15_000;

/** What this tab remembers. A browser that blocks cookies throws where a page asks for it: it remembers nothing. */
const memory = (() => {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
})();

const SIGNED_OUT = { usage: undefined, error: '', isBusy: false, isPaused: false };

/** The page: what it shows, and when it asks the service again. */
class UsagePage extends Component {
  /** Kept here only, unless the visitor asks to remember it for this tab. */
  #apiKey = memory?.getItem(STORED_KEY) ?? '';

  /** The request that is under way: an `AbortController`, or `undefined`. */
  #running;

  #keyField = createRef();
  #heading = createRef();

  state = { ...SIGNED_OUT, now: Date.now(), isRemembered: this.#apiKey !== '' };

  componentDidMount() {
    setInterval(() => this.#tick(), 1_000);
    document.addEventListener('visibilitychange', () => this.#tick());
    if (this.#apiKey === '') return;
    // In the form the key can be tried again, or forgotten, when the first request fails.
    this.#keyField.current.value = this.#apiKey;
    this.#ask();
  }

  render(_, { usage, error, isBusy, isRemembered, ...shown }) {
    if (usage === undefined) {
      return html`<${SignIn} field=${this.#keyField} ...${{ error, isBusy, isRemembered }}
        onSubmit=${this.#signIn} onRemember=${this.#remember} />`;
    }
    return html`<${Account} heading=${this.#heading} ...${{ usage, error, isBusy, ...shown }}
      onRefresh=${() => this.#ask()} onPause=${this.#pause} onSignOut=${this.#signOut} />`;
  }

  componentDidUpdate() {
    const { usage } = this.state;
    document.title = `${usage?.account_name ? `${usage.account_name} · ` : ''}Usage · Shortlink`;
  }

  #signIn = async (event) => {
    event.preventDefault();
    if (this.#running !== undefined) return;
    this.#apiKey = this.#keyField.current.value.trim();
    if (this.#apiKey === '') this.#fail('Enter an API key first.');
    else await this.#ask();
    this.#heading.current?.focus();
  };

  #remember = ({ target }) => {
    if (!target.checked) memory?.removeItem(STORED_KEY);
    this.setState({ isRemembered: target.checked });
  };

  #signOut = () => {
    this.#running?.abort();
    this.#running = undefined;
    this.#apiKey = '';
    memory?.removeItem(STORED_KEY);
    this.setState({ ...SIGNED_OUT, isRemembered: false }, () => this.#keyField.current.focus());
  };

  /** A page that changes by itself must be one that can be stopped. */
  #pause = () => this.setState({ isPaused: !this.state.isPaused }, () => this.#tick());

  /** Lets the waits count down, and asks again when a window has ended. */
  #tick() {
    const { usage, isPaused, refetchAt } = this.state;
    if (usage === undefined || isPaused || document.hidden) return;
    this.setState({ now: Date.now() });
    if (Date.now() >= refetchAt) this.#ask();
  }

  /** Asks for the usage and shows it; an error leaves what was shown before and says why. */
  async #ask() {
    if (this.#running !== undefined) return;
    const request = new AbortController();
    this.#running = request;
    this.setState({ isBusy: true });
    const patience = setTimeout(() => request.abort('late'), PATIENCE_MS);
    try {
      const answered = await fetchUsage(this.#apiKey, request.signal);
      if (this.#running !== request) return;
      if (this.state.isRemembered) memory?.setItem(STORED_KEY, this.#apiKey);
      await this.#update({ ...answered, error: '', now: Date.now(), askedAt: Date.now() });
    } catch (error) {
      if (this.#running !== request) return;
      if (error.isKeyRejected) memory?.removeItem(STORED_KEY);
      const waitMs = Math.max(LEAST_REFETCH_MS, error.retryAfterMs ?? 0);
      // A key that is rejected once is rejected again: only the visitor asks then.
      const refetchAt = error.isKeyRejected ? Number.POSITIVE_INFINITY : Date.now() + waitMs;
      this.setState({ refetchAt });
      this.#fail(error.message);
    } finally {
      clearTimeout(patience);
      if (this.#running === request) {
        this.#running = undefined;
        await this.#update({ isBusy: false });
      }
    }
  }

  #fail(error) {
    this.setState({ error }, () => this.#keyField.current?.focus());
  }

  #update(state) {
    return new Promise((resolve) => this.setState(state, resolve));
  }
}

/** The usage, how far the service's clock is ahead of this one, and when to ask again. */
async function fetchUsage(apiKey, signal) {
  try {
    const headers = { 'X-Api-Key': apiKey };
    const response = await fetch('/api/v1/usage', { headers, cache: 'no-store', signal });
    const body = await response.json().catch(() => undefined);
    signal.throwIfAborted();
    return response.ok && body?.requests
      ? usageOf(body, response.headers)
      : refusal(body, response);
  } catch (error) {
    if (error.isAnswer) throw error;
    throw new Error(
      signal.aborted
        ? `The service has not responded for ${PATIENCE_MS / 1_000} s.`
        : 'The service can not be reached, or the key has characters that no key has.',
    );
  }
}

function usageOf(usage, headers) {
  const difference = Date.parse(headers.get('Date') ?? '') - Date.now();
  // The header has whole seconds: a smaller difference is none.
  const aheadMs = Math.abs(difference) > 2_000 ? difference : 0;
  const { minute, day, month } = usage.requests;
  const ends = [minute, day, month].map(({ resets_at }) => Date.parse(resets_at));
  const firstEnd = Math.min(...ends) - aheadMs + AFTER_RESET_MS;
  return { usage, aheadMs, refetchAt: Math.max(Date.now() + LEAST_REFETCH_MS, firstEnd) };
}

function refusal(body, { ok, status, headers }) {
  // `Retry-After` has seconds or a date.
  const after = headers.get('Retry-After') ?? '';
  const words = ok
    ? 'Something else than the service has responded, such as a proxy that asks to sign in.'
    : (body?.error ?? `The service answered ${status}.`);
  throw Object.assign(new Error(words), {
    isAnswer: true,
    isKeyRejected: status === 401 || body?.code === 'account_disabled',
    retryAfterMs: Number(after) * 1_000 || Date.parse(after) - Date.now() || 0,
  });
}

render(html`<${UsagePage} />`, document.getElementById('page'));
