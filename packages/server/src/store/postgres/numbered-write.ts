import { escapeLiteral, type QueryResult } from 'pg';
import { newUuid } from '../../domain/ids.ts';
import { recordWrite } from '../links.ts';
import { sql } from '../queries/reading.ts';
import type { ClickWrite } from '../store.ts';
import type { Channel } from './connection.ts';
import { toPostgres } from './statement.ts';

/** Writes under one name. Each leaves an old version of its row, which later ones pass over while a snapshot, such as that of `pg_dump`, is open. */
const WRITES_OF_A_WRITER = 2_000;

/** The writers of an instance, one for each transaction at a time. Only the outcome of its last write is known under its name. */
export class Writers {
  /** The last writes of those that write nothing at present. */
  readonly #idle: ClickWrite[] = [];

  next(): ClickWrite {
    const { writer, number } = this.#idle.pop() ?? { writer: newUuid(), number: 0 };
    return { writer, number: number + 1, now: Date.now() };
  }

  /** Not for a write that may still be open: its row would have to be waited for. */
  giveBack(write: ClickWrite): void {
    if (write.number < WRITES_OF_A_WRITER) this.#idle.push(write);
  }
}

/** Makes the statement of {@link begin}, once for each connection: to plan it costs more than to run it. */
export const PREPARE_BEGIN = `PREPARE shortlink_begin (text, bigint, bigint) AS ${toPostgres(recordWrite({ writer: '', number: 0, now: 0 }).text)}`;

/** Begins a transaction and records its number, in one exchange. `false`: it was committed before, and this one must do nothing. */
export async function begin(channel: Channel, write: ClickWrite): Promise<boolean> {
  if (channel.isPooled) {
    await channel.begin();
    return (await channel.run(recordWrite(write))).length === 1;
  }
  const { writer, number, now } = write;
  const text = `BEGIN; EXECUTE shortlink_begin(${escapeLiteral(writer)}, ${number}, ${now})`;
  // Several statements in one text have several results, which the driver's types leave out.
  const results = (await channel.client.query(text)) as unknown as QueryResult[];
  return results.at(-1)?.rowCount === 1;
}

/**
 * Ends the transaction that found a write committed. It writes, so that its own commit waits for a synchronous standby: a primary whose
 * standby was cut off shows transactions that the standby doesn't have, once their sessions were ended.
 */
export async function confirm(channel: Channel, { writer }: ClickWrite): Promise<void> {
  const touch = sql`UPDATE click_writes SET written_at = written_at WHERE writer = ${writer}`;
  await channel.run(touch);
  await channel.commit();
}
