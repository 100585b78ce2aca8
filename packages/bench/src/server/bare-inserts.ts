/**
 * The least that moves links into a database: inserts the same rows into the server's own tables, with its durability and in
 * steps of its size. It reads no file, checks nothing and finds no conflict. Started by `moving-in.ts`.
 */
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { type LinkToMove, linksToMove } from './links-to-move.ts';

const [url = '', account = '', domain = '', count = ''] = process.argv.slice(2);
const PER_COMMIT = 2_000;

function* steps(): Generator<LinkToMove[]> {
  let step: LinkToMove[] = [];
  for (const link of linksToMove(Number(count))) {
    step.push(link);
    if (step.length < PER_COMMIT) continue;
    yield step;
    step = [];
  }
  yield step;
}

const LINK_COLUMNS =
  'code, id, account_id, target_url, title, redirect_type, is_active, tags, created_at, target_number';

/** As far from the one before as the numbers that the server makes of targets, which are hashes of 32 bits. */
const targetNumber = (number: number) => Math.imul(number, 0x9e37_79b1) >>> 0;

function intoSqlite(): void {
  const db = new DatabaseSync(url.replace(/^sqlite:/, ''), { enableForeignKeyConstraints: false });
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
    PRAGMA cache_size = -32768; PRAGMA wal_autocheckpoint = 4000`);
  const insertLink = db.prepare(
    `INSERT INTO links (${LINK_COLUMNS}) VALUES (?, ?, ?, ?, ?, 302, 1, ?, ?, ?)`,
  );
  const insertAlias = db.prepare('INSERT INTO aliases (domain_id, path, code) VALUES (?, ?, ?)');
  const insertClicks = db.prepare('INSERT INTO link_clicks (code, clicks) VALUES (?, ?)');
  let number = 0;
  for (const step of steps()) {
    db.exec('BEGIN IMMEDIATE');
    for (const { code, id, targetUrl, title, tags, createdAt, clicks, paths } of step) {
      number += 1;
      const target = targetNumber(number);
      insertLink.run(code, id, account, targetUrl, title, JSON.stringify(tags), createdAt, target);
      for (const path of paths) insertAlias.run(domain, path, code);
      if (clicks > 0) insertClicks.run(code, clicks);
    }
    db.exec('COMMIT');
  }
  db.close();
}

async function intoPostgres(): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  let number = 0;
  for (const step of steps()) {
    const aliases = step.flatMap(({ code, paths }) => paths.map((path) => ({ code, path })));
    const clicked = step.filter(({ clicks }) => clicks > 0);
    const column = <R, K extends keyof R>(rows: readonly R[], name: K) =>
      rows.map((row) => row[name]);
    await client.query('BEGIN');
    await client.query({
      name: 'links',
      text: `INSERT INTO links (${LINK_COLUMNS})
        SELECT code, id, $1, target_url, title, 302, true, tags, created_at, number
        FROM unnest($2::text[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[])
          AS listed (code, id, target_url, title, tags, created_at, number)`,
      values: [
        ...[account, column(step, 'code'), column(step, 'id'), column(step, 'targetUrl')],
        ...[step.map(({ title }) => title)],
        ...[step.map(({ tags }) => JSON.stringify(tags)), column(step, 'createdAt')],
        step.map(() => targetNumber(++number)),
      ],
    });
    await client.query({
      name: 'aliases',
      text: `INSERT INTO aliases (domain_id, path, code)
        SELECT $1, path, code FROM unnest($2::text[], $3::text[]) AS listed (path, code)`,
      values: [domain, column(aliases, 'path'), column(aliases, 'code')],
    });
    await client.query({
      name: 'clicks',
      text: `INSERT INTO link_clicks (code, clicks) SELECT * FROM unnest($1::text[], $2::bigint[])`,
      values: [column(clicked, 'code'), column(clicked, 'clicks')],
    });
    await client.query('COMMIT');
  }
  await client.end();
}

if (url.startsWith('sqlite:')) intoSqlite();
else await intoPostgres();
