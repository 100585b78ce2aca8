import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test, vi } from 'vitest';
import { sqlText } from '../queries/reading.ts';
import { Database, toStoreError } from './database.ts';

test('opening a database prints no warning, and other warnings still appear', () => {
  const file = fileURLToPath(new URL('./database.ts', import.meta.url));
  const program = `
    const emitted = [];
    process.emitWarning = (warning) => emitted.push(String(warning));
    const { Database } = await import(${JSON.stringify(file)});
    new Database({ path: ':memory:' }).close();
    process.emitWarning('still heard');
    console.log(JSON.stringify(emitted));`;
  const output = execFileSync(process.execPath, ['--input-type=module', '-e', program]);
  expect(JSON.parse(output.toString())).toEqual(['still heard']);
  const { emitWarning } = process;
  new Database({ path: ':memory:' }).close();
  expect(process.emitWarning).toBe(emitWarning);
});

test('a snapshot sees nothing that is committed meanwhile', async () => {
  const db = new Database({ path: ':memory:' });
  db.exec('CREATE TABLE t (a INTEGER) STRICT');
  expect(() =>
    db.snapshot(() => {
      throw new Error('in the midst');
    }),
  ).toThrow('in the midst');
  // The read transaction was ended, so a new one can begin.
  expect(db.snapshot(() => db.all(sqlText('SELECT a FROM t')))).toEqual([]);
  db.close();
});

test('foreign keys are enforced', () => {
  const db = new Database({ path: ':memory:' });
  db.exec('CREATE TABLE p (id TEXT UNIQUE); CREATE TABLE c (p TEXT REFERENCES p (id))');
  expect(() => db.run(sqlText(`INSERT INTO c VALUES ('nobody')`))).toThrow('FOREIGN KEY');
  db.close();
});

test('a statement error names the database and keeps its cause', () => {
  const db = new Database({ path: ':memory:' });
  const fail = () => db.exec('SELECT nonsense');
  expect(fail).toThrow('The database :memory: failed: no such column: nonsense');
  expect(fail).toThrow(expect.objectContaining({ reason: 'internal', cause: expect.any(Error) }));
  db.close();
});

test.each([
  ['busy', 5, 6, 517],
  ['unavailable', 10, 778, 14],
  ['corrupt', 11, 26, 267],
  ['read_only', 8],
  ['full', 13],
  ['internal', 1],
] as const)(
  '%s is made of the result codes of SQLite, also of refined ones',
  (reason, ...codes) => {
    const errors = codes.map((errcode) => Object.assign(new Error('SQLite'), { errcode }));
    for (const error of errors) expect(toStoreError(error, 'a.db')).toMatchObject({ reason });
  },
);

test('a runtime without the driver is told what runs without it', () => {
  using driver = vi.spyOn(process, 'getBuiltinModule').mockReturnValue(undefined);
  expect(() => new Database({ path: ':memory:' })).toThrow('`startPageService`');
  expect(driver).toHaveBeenCalledWith('node:sqlite');
});
