import type { BatchEvent, BulkItem, CreateManyOptions } from '../src/bulk/create-many.ts';
import { createMany } from '../src/bulk/create-many.ts';
import { ConnectionError } from '../src/errors/call-errors.ts';
import type { CreateLinkBody } from '../src/wire/link.ts';
import type { FakeService } from './fake-service.ts';

/** For tests only: everything a run yields and reports, and what it throws at the end. */
export async function runCreateMany(
  service: FakeService,
  source: Iterable<CreateLinkBody> | AsyncIterable<CreateLinkBody>,
  options: CreateManyOptions = {},
) {
  const items: BulkItem<CreateLinkBody>[] = [];
  const events: BatchEvent[] = [];
  let error: unknown;
  const onBatch = options.onBatch ?? ((event: BatchEvent) => void events.push(event));
  try {
    for await (const item of createMany(service, source, { ...options, onBatch })) items.push(item);
  } catch (thrown) {
    error = thrown;
  }
  return { items, events, error };
}

/** One letter per item: c(reated), f(ailed) or u(nknown). */
export function outcomes(items: readonly BulkItem[]): string {
  return items.map((item) => item.outcome[0]).join('');
}

/** What was reported, such as `0+100 sent`. */
export function lives(events: readonly BatchEvent[]): string[] {
  return events.map((event) => `${event.first}+${event.count} ${event.type}`);
}

/** Lets everything that can happen without time passing happen. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 5));
}

/** The connection was lost after sending. */
export function lost(): ConnectionError {
  return new ConnectionError('connection lost', { outcome: 'unknown' });
}
