import { expect, test } from 'vitest';
import {
  finishJob,
  NOW,
  newKey,
  newLink,
  PUBLIC_URL,
} from '../../src/store/contract/fixtures.test-suite.ts';
import { sqlText } from '../../src/store/queries/reading.ts';
import { Database } from '../../src/store/sqlite/database.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import { migrate, migrations } from '../../src/store/sqlite/migrate.ts';
import { useDatabasePath } from '../../src/store/sqlite/temp-database.test-suite.ts';

const LINKS = 1_000_000;

const databasePath = useDatabasePath();

/** A database as version 1 of the schema left it: an account, a key, links, and a job that is half done. */
function makeOldDatabase(path: string): void {
  const db = new Database({ path });
  db.exec('PRAGMA journal_mode = WAL');
  migrate(db, migrations.slice(0, 1), NOW);
  db.exec(`
    INSERT INTO accounts VALUES ('acc_old', 'Old', 'custom',
      '{"requests_per_minute":null,"requests_per_day":null,"requests_per_month":null,"links":null,"api_keys":null,"batch_size":10000}',
      ${LINKS + 2}, ${NOW});
    INSERT INTO api_keys VALUES ('key_old', 'acc_old', 'ci', '["shortlinks:write"]', x'00', ${NOW}, NULL);
    INSERT INTO key_days VALUES ('key_old', ${Date.UTC(2026, 2, 10)}, 7, 1, ${LINKS}, ${NOW}, 3);
    INSERT INTO links
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${LINKS})
      SELECT printf('%07d', i), 'id' || i, 'acc_old', NULL, 'https://example.com/' || i, 'Title ' || i,
        302, 1, i % 5, '["old"]', ${NOW} FROM n;
    INSERT INTO jobs VALUES ('job_old', 'acc_old', 2, 1, ${NOW}, NULL);
    INSERT INTO job_chunks VALUES
      ('job_old', 0, NULL, '{"target_url":"https://example.com/1","code":"0000001","short_url":"https://sho.rt/0000001"}'),
      ('job_old', 1, '[{"target_url":"https://example.com/b","title":"","redirect_type":302,"tags":[],"domain_id":null}]', NULL);
  `);
  db.close();
}

/** Processor time of some work, in microseconds: that of other programs doesn't count. */
function cpuOf(work: () => void): number {
  const start = process.cpuUsage();
  work();
  return process.cpuUsage(start).user;
}

test('an older schema with 1,000,000 links is brought up to date with all that is in it', {
  timeout: 600_000,
}, async () => {
  const path = databasePath();
  const making = cpuOf(() => makeOldDatabase(path));
  const old = new Database({ path });
  const steps = migrations.map((_, last) =>
    cpuOf(() => migrate(old, migrations.slice(0, last + 1), NOW)),
  );
  // Creates wait for one step. One that rewrites every link takes as long as all of them took.
  expect(Math.max(...steps)).toBeLessThan(making / 2);
  old.close();
  const store = await openSqliteStore({ path, publicUrl: PUBLIC_URL });

  for (const n of [1, Math.ceil(LINKS / 2), LINKS]) {
    expect(await store.findLink(String(n).padStart(7, '0'))).toEqual({
      id: `id${n}`,
      code: String(n).padStart(7, '0'),
      short_url: `${PUBLIC_URL}/${String(n).padStart(7, '0')}`,
      target_url: `https://example.com/${n}`,
      title: `Title ${n}`,
      redirect_type: 302,
      is_active: true,
      click_count: n % 5,
      tags: ['old'],
      created_at: new Date(NOW).toISOString(),
    });
  }
  expect((await store.usage('acc_old', NOW)).keys[0]).toMatchObject({
    history: [{ date: '2026-03-10', requests: 7, refused: 1, links: LINKS }],
    recent_refusals: [],
  });
  expect(await finishJob(store, 'job_old')).toEqual([2]);
  const caller = await newKey(store, 'acc_old');
  expect(await store.createLink({ caller, input: newLink(), now: NOW })).toMatchObject({
    ok: true,
  });
  await store.close();

  const db = new Database({ path });
  expect(db.get(sqlText('SELECT count(*) AS links FROM links'))).toEqual({ links: LINKS + 2 });
  expect(db.get(sqlText('SELECT max(version) AS version FROM schema_migrations'))).toEqual({
    version: migrations.at(-1)?.version,
  });
  expect(db.get(sqlText('PRAGMA integrity_check'))).toEqual({ integrity_check: 'ok' });
  db.close();
});
