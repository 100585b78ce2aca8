import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientConfig } from 'pg';
import type { LinkWatcher } from '../store.ts';
import { endSoon } from './end-soon.ts';

/** Where changes of links are told; the payload is the code, or empty when any link may have changed. */
export const LINK_CHANGES_CHANNEL = 'shortlink_link_changes';

/**
 * How often the connection is tried, and how long an answer may take, in milliseconds. A connection that dies silently is
 * noticed within their sum, which is below the age that cached redirects have without messages (`REDIRECT_MAX_AGE_MS`), so
 * that this age is the bound either way.
 */
const HEARTBEAT_MS = 400;
const HEARTBEAT_TIMEOUT_MS = 400;

/** Wait before connecting again, in milliseconds. */
const RECONNECT_MS = 500;

/** Listens for changes of links on a connection of its own, and connects again when it is lost, until it is closed. */
export class LinkChanges {
  readonly #config: ClientConfig;
  readonly #watchers: LinkWatcher[] = [];
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;

  constructor(config: ClientConfig) {
    this.#config = { ...config, query_timeout: HEARTBEAT_TIMEOUT_MS };
  }

  watch(watcher: LinkWatcher): void {
    this.#watchers.push(watcher);
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.#listen(signal).catch(() => undefined);
      await delay(RECONNECT_MS, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Listens until the connection is lost or the feed is closed. */
  async #listen(signal: AbortSignal): Promise<void> {
    const client = new Client(this.#config);
    // The statement that is under way learns of the loss.
    client.on('error', () => undefined);
    client.on('notification', ({ payload }) => {
      for (const watcher of this.#watchers) {
        // Without a code, any link may have changed: what was read until now is as good as read while nobody listened.
        if (payload) watcher.changed(payload);
        else watcher.connected(true);
      }
    });
    try {
      await client.connect();
      await client.query(`LISTEN ${LINK_CHANGES_CHANNEL}`);
      for (const watcher of this.#watchers) watcher.connected(true);
      while (!signal.aborted) {
        await delay(HEARTBEAT_MS, undefined, { signal });
        await client.query('SELECT 1');
      }
    } finally {
      for (const watcher of this.#watchers) watcher.connected(false);
      await endSoon(client.end());
    }
  }
}
