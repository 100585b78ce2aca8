import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { BatchLinkInput } from '@shortlink/sdk';
import { serviceUrl } from '../../config/settings.ts';
import { inTransaction, isEmpty, lastLink, removeJournal } from './database.ts';
import { linkOfPair } from './link-text.ts';
import { completedRows, NO_RESPONSE, type PackedResults, unpackResult } from './packed-results.ts';

/** A request of an earlier run, or of an earlier round of this run, that may have created links. */
export interface OpenBatch {
  id: number;
  /** RFC 3339. */
  sentAt: string;
  idempotencyKey: string | undefined;
  /** The job, which a poll may still find. */
  job: string | undefined;
  /** Links in it. */
  size: number;
  /** Default domain of the request. */
  domain: string | undefined;
  /** JSON of its links, where it may be sent again under its key. */
  body: string | undefined;
  /** The first of its rows in the table `link`. */
  firstLink: number;
}

interface NewBatch {
  /** JSON array of link texts. */
  links: string;
  size: number;
  sentAt: string;
  idempotencyKey: string | undefined;
  domain: string | undefined;
  body: string | undefined;
  /** What became of its links, where no request is needed. */
  results?: PackedResults | undefined;
}

/**
 * The journal of an import: which links exist, and which requests may have created some. Everything is on disk when a method returns.
 */
export class Journal {
  readonly path: string;
  readonly db: DatabaseSync;
  /** Where the journal is that was set aside for this one. */
  predecessor: string | undefined;
  /** The service of this run: links of other services are kept and ignored. */
  readonly service: number;
  /** Links of this run have ids from this one on. */
  readonly firstNewLink: number;
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
        return Number(db.prepare('SELECT id FROM service WHERE url = ?').get(url)?.['id']);
      });
      this.#nextLink = lastLink(db) + 1;
      this.unpackBatches();
      this.firstNewLink = this.#nextLink;
    } catch (error) {
      db.close();
      throw error;
    }
  }

  /** Records a request before it is sent, or a batch that needs none. */
  begin(batch: NewBatch): number {
    const { links, size, sentAt, idempotencyKey = null, domain = null, body = null } = batch;
    const results = batch.results === undefined ? null : JSON.stringify(batch.results);
    const state = results === null ? 'sent' : 'completed';
    return this.write(() => {
      const { lastInsertRowid } = this.#prepare(
        `INSERT INTO batch (service, state, sent_at, idempotency_key, size, domain, results)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
      ).run(this.service, state, sentAt, idempotencyKey, size, domain, results);
      const id = Number(lastInsertRowid);
      const insert = this.#prepare('INSERT INTO request (batch, links, body) VALUES (?, ?, ?)');
      insert.run(id, links, body);
      return id;
    });
  }

  /** The request became a job. It is not sent again: to its key the service would respond with the same job. */
  accepted(id: number, job: string): void {
    this.write(() => {
      this.#prepare("UPDATE batch SET state = 'accepted', job = ? WHERE id = ?").run(job, id);
      this.#dropBody(id);
    });
  }

  completed(id: number, results: PackedResults): void {
    const sql = "UPDATE batch SET state = 'completed', results = ? WHERE id = ?";
    this.write(() => this.#prepare(sql).run(JSON.stringify(results), id));
  }

  /**
   * Records that it can't be known what the request created, except for the links that it has certainly created or refused.
   *
   * @param ids - of the links in the table `link`, in the order of the results, where they are there already
   */
  unknown(id: number, results: PackedResults, job?: string, ids: readonly number[] = []): void {
    this.write(() => {
      this.#prepare(
        "UPDATE batch SET state = 'unknown', error = ?, job = ?, results = ? WHERE id = ?",
      ).run(results.missing ?? null, job ?? null, JSON.stringify(results), id);
      this.#decide(results, ids);
    });
  }

  /** The service may have forgotten the key of this request, so that it is not sent again. */
  expired(id: number): void {
    this.write(() => this.#dropBody(id));
  }

  /** Nothing was created by a request of this run. */
  removed(id: number): void {
    this.write(() => this.#forgetBatch({ id }));
  }

  /** Forgets an open batch, so that its rows are new again, but for those whose link is known. */
  release(batch: OpenBatch): void {
    this.write(() => {
      this.#forgetBatch(batch);
      const sql = 'DELETE FROM link WHERE id >= ? AND id < ? AND short_url IS NULL';
      this.#prepare(sql).run(batch.firstLink, batch.firstLink + batch.size);
    });
  }

  /** What this run has recorded of a batch. */
  results(id: number): PackedResults {
    const results = this.#prepare('SELECT results FROM batch WHERE id = ?').get(id)?.['results'];
    const nothing = { prefix: '', items: [], missing: NO_RESPONSE };
    return results === null ? nothing : JSON.parse(String(results));
  }

  /** The batches of this service that may have created links, oldest first. Their links are in the table `link`. */
  openBatches(): OpenBatch[] {
    const rows = this.#prepare(
      `SELECT batch.*, request.body FROM batch JOIN request ON request.batch = batch.id
       WHERE service = ? AND first_link IS NOT NULL ORDER BY id`,
    ).all(this.service);
    return rows.map((row) => ({
      id: Number(row['id']),
      sentAt: String(row['sent_at']),
      idempotencyKey: text(row['idempotency_key']),
      job: text(row['job']),
      size: Number(row['size']),
      domain: text(row['domain']),
      body: text(row['body']),
      firstLink: Number(row['first_link']),
    }));
  }

  /** The links of an open batch, in the order of the request, without those that it refused. */
  linksOf(batch: OpenBatch): ({ id: number } & BatchLinkInput)[] {
    return this.#prepare('SELECT id, pair FROM link WHERE id >= ? AND id < ? ORDER BY id')
      .all(batch.firstLink, batch.firstLink + batch.size)
      .map((row) => ({ id: Number(row['id']), ...linkOfPair(String(row['pair'])) }));
  }

  /** Records the outcome of an open batch, whose links have these ids: they exist, or don't, or it stays unknown. */
  settle(batch: OpenBatch, results: PackedResults, ids: readonly number[]): void {
    this.write(() => {
      this.#decide(results, ids, true);
      this.#forgetBatch(batch);
    });
  }

  /**
   * Makes rows of `link` out of the batches that were recorded since the last time. Recording a request as one row of text is
   * several times cheaper than as rows, and only a later run, or a later round, asks for single links.
   */
  unpackBatches(): void {
    this.write(() => {
      const next = this.#prepare(
        `SELECT id, service, state, links, results FROM batch JOIN request ON request.batch = batch.id
         WHERE first_link IS NULL ORDER BY id LIMIT 1`,
      );
      const insert = this.#prepare(
        `INSERT INTO link (id, service, batch, content, pair, code, short_url, error)
         SELECT ? + key, ?, ?, substr(value ->> 0, 1, 7), substr(value ->> 0, 8), value ->> 1, value ->> 2, value ->> 3
         FROM json_each(?)`,
      );
      // One at a time: the requests of a large import don't fit into memory together.
      for (let row = next.get(); row !== undefined; row = next.get()) {
        const id = Number(row['id']);
        const isCompleted = row['state'] === 'completed';
        const links: string[] = JSON.parse(String(row['links']));
        const rows = isCompleted
          ? completedRows(links, JSON.parse(String(row['results'])))
          : links.map((link) => [link]);
        const firstLink = this.#nextLink;
        this.#nextLink += links.length;
        const batch = isCompleted ? null : id;
        insert.run(firstLink, Number(row['service']), batch, JSON.stringify(rows));
        if (isCompleted) this.#forgetBatch({ id });
        else {
          this.#prepare('UPDATE batch SET first_link = ? WHERE id = ?').run(firstLink, id);
          this.#prepare("UPDATE request SET links = '[]' WHERE batch = ?").run(id);
          const ids = links.map((_, index) => firstLink + index);
          if (row['results'] !== null) this.#decide(JSON.parse(String(row['results'])), ids);
        }
      }
    });
  }

  /** Whether there is a link of this service to compare rows with. */
  hasLinks(): boolean {
    const found = this.#prepare('SELECT 1 FROM link WHERE service = ? LIMIT 1').get(this.service);
    return found !== undefined;
  }

  /** Links of this service that are known to exist. None is forgotten, unless the end of its job says that it was refused. */
  knownLinks(): number {
    const sql = 'SELECT count(*) AS links FROM link WHERE service = ? AND short_url IS NOT NULL';
    return Number(this.#prepare(sql).get(this.service)?.['links']);
  }

  /** Addresses of the other services whose links it knows. */
  otherServices(): string[] {
    const sql =
      'SELECT url FROM service WHERE id <> ? AND id IN (SELECT service FROM link) ORDER BY url';
    return this.#prepare(sql)
      .all(this.service)
      .map(({ url }) => String(url));
  }

  /** Whether it holds anything, of any service. An empty one is removed when it is closed. */
  get isEmpty(): boolean {
    return isEmpty(this.db);
  }

  /** Links of this service in jobs that no run has seen completed: the next one can still poll them. */
  linksInJobs(): number {
    const sql =
      "SELECT coalesce(sum(size), 0) AS links FROM batch WHERE service = ? AND job IS NOT NULL AND state <> 'completed'";
    return Number(this.#prepare(sql).get(this.service)?.['links']);
  }

  /** Forgets links that the response to their request left out, so that their rows are new again. */
  releaseUnanswered(): boolean {
    const sql = 'DELETE FROM link WHERE service = ? AND batch IS NULL AND short_url IS NULL';
    return Number(this.#prepare(sql).run(this.service).changes) > 0;
  }

  /** Removes the file: there is nothing left to remember. */
  forget(): void {
    removeJournal(this.path, this.db);
  }

  /** Runs `work` in a transaction. */
  write<T>(work: () => T): T {
    return inTransaction(this.db, this.path, work);
  }

  close(): void {
    this.#dispose();
  }

  /** Records which of a batch's links exist, and forgets those that were refused. Of the others, what is known stays. */
  #decide(results: PackedResults, ids: readonly number[], isEnded = false): void {
    const keep = this.#prepare('UPDATE link SET code = ?, short_url = ? WHERE id = ?');
    const remove = this.#prepare('DELETE FROM link WHERE id = ?');
    const leave = this.#prepare('UPDATE link SET error = ? WHERE id = ? AND short_url IS NULL');
    ids.forEach((id, index) => {
      const result = unpackResult(results, index);
      if (result.status === 'created') keep.run(result.code, result.short_url, id);
      else if (result.status === 'failed') remove.run(id);
      else if (isEnded) leave.run(result.error, id);
    });
  }

  /** Without its body, a request is not sent again. */
  #dropBody(id: number): void {
    this.#prepare('UPDATE request SET body = NULL WHERE batch = ?').run(id);
  }

  /** Forgets a request, but not its links, which are in the table `link` from `firstLink` on, if at all. */
  #forgetBatch({ id, firstLink = 0, size = 0 }: Pick<OpenBatch, 'id'> & Partial<OpenBatch>): void {
    const sql = 'UPDATE link SET batch = NULL WHERE id >= ? AND id < ?';
    this.#prepare(sql).run(firstLink, firstLink + size);
    this.#prepare('DELETE FROM request WHERE batch = ?').run(id);
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
