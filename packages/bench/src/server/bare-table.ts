import { DatabaseSync } from 'node:sqlite';
import { openSqliteStore } from '../../../server/src/store/sqlite/index.ts';

/** The server's own table of links in a new file, with the server's own durability and nothing around it. */
export async function openBareTable(
  path: string,
): Promise<{ db: DatabaseSync; insert: (code: string, targetUrl: string) => void }> {
  // The store makes the tables, so that they are always those of today.
  await (await openSqliteStore({ path, publicUrl: 'http://127.0.0.1' })).close();
  const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -32768');
  const statement = db.prepare(
    `INSERT INTO links (code, id, account_id, target_url, target_number, title, redirect_type, is_active, tags, created_at)
     VALUES (?, ?, 'bench', ?, ?, '', 302, 1, '["bench"]', ?)`,
  );
  let number = 0;
  return {
    db,
    // Numbers that count up are cheaper to index than those of the server, which are hashes.
    insert: (code, targetUrl) => {
      number += 1;
      statement.run(code, crypto.randomUUID(), targetUrl, number, Date.now());
    },
  };
}
