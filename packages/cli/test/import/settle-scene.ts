import { join } from 'node:path';
import type { Evidence } from '../../src/import/check/evidence.ts';
import type { Batch } from '../../src/import/journal/batches.ts';
import type { Journal } from '../../src/import/journal/journal.ts';
import { openJournal } from '../../src/import/journal/open-journal.ts';
import { type LinkIdentity, linkIdentity } from '../../src/import/map/link-identity.ts';
import { settleOpenBatches } from '../../src/import/send/settle-open.ts';
import {
  type ImportDeps,
  type ImportEvent,
  type ImportSettings,
  NO_RESPONSE,
} from '../../src/import/types.ts';
import { FakeService } from './fake-service.ts';

export const HOUR_MS = 3_600_000;
export const SENT_AT = Date.UTC(2026, 0, 1);

/** A journal with requests of an earlier run whose outcome is open, and a service to settle them with. */
export class SettleScene {
  readonly service = new FakeService();
  readonly journal;
  readonly events: ImportEvent[] = [];
  readonly stop = new AbortController();
  asksFor: (batch: Batch) => boolean = () => true;
  /** Rows of unknown outcome, whenever they are compared. */
  unknown = 0;

  constructor(folder: string) {
    this.journal = openJournal({
      path: join(folder, 'journal'),
      baseUrl: 'https://api.example',
      restart: false,
    });
  }

  /** An earlier run sent links to these targets, and ended before it had a response. */
  sent(targets: readonly string[], changes: { key?: string; job?: string } = {}): void {
    const links = targets.map((name) => ({ target_url: `https://${name}.example/` }));
    const { id } = this.journal.begin({
      links:
        changes.key === undefined
          ? links.map((sent) => stored(linkIdentity(sent, undefined)))
          : links,
      sentAt: new Date(SENT_AT).toISOString(),
      idempotencyKey: changes.key,
      domain: undefined,
    });
    if (changes.job !== undefined) this.journal.note(id, 'accepted', { job: changes.job });
  }

  async settle(
    changes: Partial<ImportSettings> = {},
    ageMs = HOUR_MS,
    client: object = this.service.client(),
  ) {
    const settings = { onUnknown: 'stop', idempotency: true, concurrency: 2, ...changes };
    const evidence = {
      asksFor: (batch: Batch) => this.asksFor(batch),
      compare: () => ({ unknown: this.unknown }),
      releaseDoubts: () => false,
    };
    const { comparison, failure } = await settleOpenBatches({
      journal: this.journal,
      evidence: evidence as unknown as Evidence,
      idempotency: settings.idempotency === true,
      canAsk: false,
      settings: settings as ImportSettings,
      deps: {
        client,
        onEvent: (event: ImportEvent) => this.events.push(event),
        signal: new AbortController().signal,
        stopSignal: this.stop.signal,
        wallClock: () => SENT_AT + ageMs,
        uptime: () => ageMs,
      } as unknown as ImportDeps,
    });
    const links = linksIn(this.journal).map(({ error, ...link }) => ({
      ...link,
      error: error === NO_RESPONSE ? null : error,
    }));
    const isChanged = comparison !== undefined;
    return { isChanged, failure, links, open: this.journal.openBatches().length };
  }
}

/** Every link that a journal knows to exist, or to be possible. */
export const linksIn = (journal: Journal) =>
  journal.batches().flatMap((batch) =>
    [...journal.eachLink(batch)].flatMap(({ pair, result }) => {
      if (result?.status === 'created') return { pair, code: result.code, error: null };
      return result?.status === 'unknown' ? { pair, code: null, error: result.error } : [];
    }),
  );

/** A link as the journal stores it. */
export const stored = ({ pair, content }: LinkIdentity): [string, number] => [pair, content];

/** A link of the journal. */
export const link = (name: string, code: string | null, error: unknown = null) => ({
  pair: `https://${name}.example/`,
  code,
  error,
});

/** A response of the service. */
export const answer = (status: number, body: object = { error: 'no' }) =>
  ({ type: 'answer', status, body }) as const;
