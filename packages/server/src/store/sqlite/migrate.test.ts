import { expect, test, vi } from 'vitest';
import { NOW, PUBLIC_URL } from '../contract/fixtures.test-suite.ts';
import type { Migration } from '../migration.ts';
import { sqlText } from '../queries/reading.ts';
import { Database } from './database.ts';
import { migrateSqlite, openSqliteStore } from './index.ts';
import { migrate, migrations, schemaVersion } from './migrate.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';

const path = useDatabasePath();

const steps: Migration[] = [
  { version: 1, name: 'one', sql: 'CREATE TABLE one (a TEXT) STRICT; INSERT INTO one VALUES (1)' },
  { version: 2, name: 'two', sql: 'ALTER TABLE one ADD COLUMN b TEXT' },
];

test('missing steps are run in order, once', () => {
  const db = new Database({ path: path() });
  expect(migrate(db, steps.slice(0, 1), NOW)).toEqual({ from: 0, to: 1 });
  expect(migrate(db, steps, NOW)).toEqual({ from: 1, to: 2 });
  expect(migrate(db, steps, NOW)).toEqual({ from: 2, to: 2 });
  expect(db.all(sqlText('SELECT * FROM one'))).toEqual([{ a: '1', b: null }]);
  expect(db.all(sqlText('SELECT version, name FROM schema_migrations'))).toEqual([
    { version: 1, name: 'one' },
    { version: 2, name: 'two' },
  ]);
  db.close();
});

test('a step that fails leaves the schema of the one before it, whole; a new database stays empty', () => {
  const broken = [
    ...steps,
    { version: 3, name: 'three', sql: 'CREATE TABLE x (a); DROP TABLE nobody' },
  ];
  const db = new Database({ path: path() });
  expect(() => migrate(db, broken, NOW)).toThrow('no such table: nobody');
  expect(schemaVersion(db)).toBe(0);
  migrate(db, steps.slice(0, 1), NOW);
  expect(() => migrate(db, broken, NOW)).toThrow('no such table: nobody');
  expect(migrate(db, steps, NOW)).toEqual({ from: 2, to: 2 });
  expect(db.all(sqlText('SELECT * FROM one'))).toEqual([{ a: '1', b: null }]);
  expect(db.all(sqlText("SELECT name FROM sqlite_schema WHERE name = 'x'"))).toEqual([]);
  db.close();
});

test('a server that writes meanwhile waits for one step, not for all', () => {
  const server = new Database({ path: path(), busyTimeoutMs: 0 });
  migrate(server, steps.slice(0, 1), NOW);
  const db = new Database({ path: path() });
  const wait = vi.spyOn(Atomics, 'wait').mockImplementation(() => {
    server.run(sqlText("INSERT INTO one (a) VALUES ('meanwhile')"));
    return 'timed-out';
  });
  const more = ['two', 'three', 'four'].map((name, index) => {
    return { version: index + 2, name, sql: `CREATE TABLE ${name} (a TEXT) STRICT` };
  });
  expect(migrate(db, [...steps.slice(0, 1), ...more], NOW)).toEqual({ from: 1, to: 4 });
  expect(wait).toHaveBeenCalledTimes(2);
  wait.mockRestore();
  expect(db.all(sqlText("SELECT a FROM one WHERE a = 'meanwhile'"))).toHaveLength(2);
  server.close();
  db.close();
});

test('the steps are numbered upwards, and migrateSqlite reports them', async () => {
  const versions = migrations.map(({ version }) => version);
  expect([...new Set(versions)].toSorted((a, b) => a - b)).toEqual(versions);
  const newest = versions.at(-1);
  expect(await migrateSqlite(path())).toEqual({ from: 0, to: newest });
  expect(await migrateSqlite(path())).toEqual({ from: newest, to: newest });
});

test('a database of a version that was never released is refused with words, and left alone', async () => {
  const db = new Database({ path: path() });
  migrate(db, [{ version: 18, name: 'domain links', sql: '' }], NOW);
  const error = await migrateSqlite(path()).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ name: 'StoreError', reason: 'too_old' });
  expect(String(error)).toContain('has schema version 18 (domain links), which no release had');
  expect(schemaVersion(db)).toBe(18);
  db.close();
});

test('a database of a newer version is refused with words, and left alone', async () => {
  await migrateSqlite(path());
  const db = new Database({ path: path() });
  db.run(sqlText(`INSERT INTO schema_migrations VALUES (999, 'future', 0)`));
  db.close();
  const error = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL }).catch(
    (reason: unknown) => reason,
  );
  expect(error).toMatchObject({ name: 'StoreError', reason: 'too_new' });
  expect(String(error)).toContain('has schema version 999');
});

test("another program's database is refused, and left alone", async () => {
  const db = new Database({ path: path() });
  db.exec('CREATE TABLE recipes (name TEXT)');
  await expect(openSqliteStore({ path: path(), publicUrl: PUBLIC_URL })).rejects.toMatchObject({
    reason: 'corrupt',
    message: expect.stringContaining('holds other tables'),
  });
  expect(db.all(sqlText(`SELECT name FROM sqlite_schema`))).toEqual([{ name: 'recipes' }]);
  db.close();
});
