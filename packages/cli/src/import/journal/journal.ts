import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { CreateLinkBody } from '@shortlink/sdk';
import { serviceUrl } from '../../config/settings.ts';
import { type LinkIdentity, linkOfPair, madeFor } from '../map/link-identity.ts';
import type { Claim } from '../map/result-columns.ts';
import { type LinkResult, NO_RESPONSE } from '../types.ts';
import type { Decision, LinkRange, NewBatch, OpenBatch } from './batches.ts';
import { inTransaction, isEmpty, lastLink, removeJournal } from './database.ts';

/** How many files that were written are remembered. */
const MAX_WRITTEN = 16;

/**
 * The journal of an import: which links exist, and which requests may have created some. Everything is on disk when a method returns.
 */
export class Journal {
  readonly path: string;
  readonly db: DatabaseSync;
  /** The service of this run: links of other services are kept and ignored. */
  readonly service: number;
  /** Links that this run has created have ids from this one on. */
  firstNewLink = 1;
  readonly #dispose: () => void;
  readonly #statements = new Map<string, StatementSync>();
  #nextLink = 1;

  /**
   * @param db - closed where its content is not that of a journal
   * @param dispose - closes `db`, and removes what was made for it
   */
  constructor(path: string, db: DatabaseSync, baseUrl: string, dispose: () => void) {
    this.path = path;
    this.db = db;
    this.#dispose = dispose;
    try {
      this.service = inTransaction(db, path, () => {
        const url = serviceUrl(baseUrl);
        db.prepare('INSERT INTO service (url) VALUES (?) ON CONFLICT DO NOTHING').run(url);
        db.prepare('DELETE FROM link WHERE failed IS NOT NULL').run();
        return Number(db.prepare('SELECT id FROM service WHERE url = ?').get(url)?.['id']);
      });
      this.beginCreating();
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** From here on, links that are added are new ones. */
  beginCreating(): void {
    this.#nextLink = lastLink(this.db) + 1;
    this.firstNewLink = this.#nextLink;
  }

  /** Records a request before it is sent; or links that need none, with what became of them. */
  begin(batch: NewBatch, decision?: Decision): { id: number } & LinkRange {
    const { links, sentAt, idempotencyKey = null, domain = null, body } = batch;
    const [firstLink, size] = [this.#nextLink, links.length];
    return this.write(() => {
      const { lastInsertRowid } = this.#prepare(
        `INSERT INTO batch (service, sent_at, idempotency_key, first_link, size, domain) VALUES (?, ?, ?, ?, ?, ?)`,
      ).run(this.service, sentAt, idempotencyKey, firstLink, size, domain);
      const id = Number(lastInsertRowid);
      if (body !== undefined) this.#prepare('INSERT INTO body VALUES (?, ?)').run(id, body);
      const rows = JSON.stringify(links.map(({ key, content, pair }) => [key, content, pair]));
      this.#prepare(
        `INSERT INTO link (id, service, batch, key, content, pair)
         SELECT ? + key, ?, ?, value ->> 0, value ->> 1, value ->> 2 FROM json_each(?)`,
      ).run(firstLink, this.service, id, rows);
      this.#nextLink += size;
      const begun = { id, firstLink, size };
      if (decision !== undefined) this.#decide(begun, decision);
      return begun;
    });
  }

  /** The request became a job. It is not sent again: to its key the service would respond with the same job. */
  accepted(id: number, job: string): void {
    this.write(() => {
      this.#prepare('UPDATE batch SET job = ? WHERE id = ?').run(job, id);
      this.#dropBody(id);
    });
  }

  /** Records which links of a batch exist and which were refused. Of the others, what is known stays. */
  decide(batch: { id: number } & LinkRange, decision: Decision): void {
    this.write(() => this.#decide(batch, decision));
  }

  #decide({ id, firstLink, size }: { id: number } & LinkRange, decision: Decision): void {
    const { results, ids, isFinal, job = null, error = null } = decision;
    const created: unknown[] = [];
    const others: unknown[] = [];
    results.forEach((result, index) => {
      const link = ids?.[index] ?? firstLink + index;
      if (result.status === 'created') created.push([link, result.code, result.short_url]);
      else if (result.status === 'failed') others.push([link, result.error, 1]);
      else if (isFinal) others.push([link, result.error, null]);
    });
    this.#prepare(
      `UPDATE link SET batch = NULL, code = value ->> 1, short_url = value ->> 2, error = NULL
       FROM json_each(?) WHERE link.id = value ->> 0`,
    ).run(JSON.stringify(created));
    this.#prepare(
      `UPDATE link SET batch = NULL, error = value ->> 1, failed = value ->> 2
       FROM json_each(?) WHERE link.id = value ->> 0 AND short_url IS NULL`,
    ).run(JSON.stringify(others));
    if (isFinal) this.#forgetBatch(id, firstLink, size);
    else this.#prepare('UPDATE batch SET job = ?, error = ? WHERE id = ?').run(job, error, id);
  }

  /** The service may have forgotten the key of this request, so that it is not sent again. */
  expired(id: number): void {
    this.write(() => this.#dropBody(id));
  }

  /** Forgets an open batch, so that its rows are new again, but for those whose link is known. */
  release({ id, firstLink, size }: { id: number } & LinkRange): void {
    this.write(() => {
      const sql = 'DELETE FROM link WHERE id >= ? AND id < ? AND batch = ?';
      this.#prepare(sql).run(firstLink, firstLink + size, id);
      this.#forgetBatch(id, firstLink, 0);
    });
  }

  /** What is known of the links of a batch, each with the cell `made_for`. */
  results({ firstLink, size }: LinkRange): (LinkResult & { made_for: string })[] {
    const found = this.#prepare(
      `SELECT json_group_array(json_array(key, content, code, short_url, error, failed)) AS links
       FROM (SELECT * FROM link WHERE id >= ? AND id < ? ORDER BY id)`,
    ).get(firstLink, firstLink + size);
    const links: [number, number, string, string | null, string | null, number | null][] =
      JSON.parse(String(found?.['links']));
    return links.map(([key, content, code, short_url, error, failed]) => {
      const made_for = madeFor({ key, content });
      if (short_url !== null) return { status: 'created', code, short_url, made_for };
      const status = failed === null ? 'unknown' : 'failed';
      return { status, error: error ?? NO_RESPONSE, made_for };
    });
  }

  /** The batches of this service that may have created links, oldest first. */
  openBatches(): OpenBatch[] {
    const rows = this.#prepare(
      'SELECT batch.*, body.links FROM batch LEFT JOIN body ON body.batch = batch.id WHERE service = ? ORDER BY id',
    ).all(this.service);
    return rows.map((row) => ({
      id: Number(row['id']),
      sentAt: String(row['sent_at']),
      idempotencyKey: text(row['idempotency_key']),
      job: text(row['job']),
      size: Number(row['size']),
      domain: text(row['domain']),
      body: text(row['links']),
      firstLink: Number(row['first_link']),
    }));
  }

  /** The links of an open batch, in the order of the request, without those that it refused. */
  linksOf({ firstLink, size }: LinkRange): ({ id: number } & CreateLinkBody)[] {
    return this.#prepare(
      'SELECT id, pair FROM link WHERE id >= ? AND id < ? AND failed IS NULL ORDER BY id',
    )
      .all(firstLink, firstLink + size)
      .map((row) => ({ id: Number(row['id']), ...linkOfPair(String(row['pair'])) }));
  }

  /** Every link of this service that is known to exist, or may exist. */
  *links(): Generator<{ identity: LinkIdentity; claim: Omit<Claim, 'line'> }> {
    const sql = 'SELECT * FROM link WHERE service = ? AND failed IS NULL ORDER BY id';
    for (const row of this.#prepare(sql).iterate(this.service)) {
      const { code, short_url, error } = row;
      const identity = {
        pair: String(row['pair']),
        key: Number(row['key']),
        content: Number(row['content']),
      };
      const own =
        short_url === null
          ? undefined
          : { code: String(code ?? ''), short_url: String(short_url), made_for: '' };
      const doubt = own === undefined ? String(error ?? NO_RESPONSE) : undefined;
      yield { identity, claim: { own, doubt } };
    }
  }

  /** Whether there is a link of this service to compare rows with. */
  hasLinks(): boolean {
    const sql = 'SELECT 1 FROM link WHERE service = ? AND failed IS NULL LIMIT 1';
    return this.#prepare(sql).get(this.service) !== undefined;
  }

  /** Addresses that short URLs of this service begin with, as far as the journal knows. */
  origins(): string[] {
    const sql = 'SELECT short_url FROM link WHERE service = ? AND short_url IS NOT NULL LIMIT 1';
    const url = URL.parse(String(this.#prepare(sql).get(this.service)?.['short_url']));
    return url === null ? [] : [url.origin];
  }

  /** Addresses of the other services whose links it knows. */
  otherServices(): string[] {
    const sql =
      'SELECT url FROM service WHERE id <> ? AND id IN (SELECT service FROM link) ORDER BY url';
    return this.#prepare(sql)
      .all(this.service)
      .map(({ url }) => String(url));
  }

  /** Whether it knows no link, of any service. An empty one is removed when it is closed. */
  get isEmpty(): boolean {
    return isEmpty(this.db);
  }

  /** Links of this service in jobs that no run has seen completed: the next one can still poll them. */
  linksInJobs(): number {
    const sql =
      'SELECT coalesce(sum(size), 0) AS links FROM batch WHERE service = ? AND job IS NOT NULL';
    return Number(this.#prepare(sql).get(this.service)?.['links']);
  }

  /** Forgets links that the response to their request left out, so that their rows are new again. */
  releaseUnanswered(): boolean {
    const sql =
      'DELETE FROM link WHERE service = ? AND batch IS NULL AND short_url IS NULL AND failed IS NULL';
    return Number(this.#prepare(sql).run(this.service).changes) > 0;
  }

  /** Remembers a file that is about to be put in place. */
  willWrite(content: string): void {
    this.write(() => {
      this.#prepare('INSERT INTO written (content) VALUES (?)').run(content);
      const sql = 'DELETE FROM written WHERE id <= (SELECT max(id) FROM written) - ?';
      this.#prepare(sql).run(MAX_WRITTEN);
    });
  }

  /** Whether an import under this journal has written a file with this content. */
  hasWritten(content: string): boolean {
    return this.#prepare('SELECT 1 FROM written WHERE content = ?').get(content) !== undefined;
  }

  /** Removes the file: there is nothing left to remember. */
  forget(): void {
    removeJournal(this.path);
  }

  /** Runs `work` in a transaction. */
  write<T>(work: () => T): T {
    return inTransaction(this.db, this.path, work);
  }

  close(): void {
    this.#dispose();
  }

  /** Without its body, a request is not sent again. */
  #dropBody(id: number): void {
    this.#prepare('DELETE FROM body WHERE batch = ?').run(id);
  }

  /** Forgets a request, but not its links. */
  #forgetBatch(id: number, firstLink: number, size: number): void {
    const sql = 'UPDATE link SET batch = NULL WHERE id >= ? AND id < ? AND batch = ?';
    this.#prepare(sql).run(firstLink, firstLink + size, id);
    this.#dropBody(id);
    this.#prepare('DELETE FROM batch WHERE id = ?').run(id);
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

function text(value: unknown): string | undefined {
  return value === null ? undefined : String(value);
}
