/** What SQL texts do with the file around a database: locks, settings and commits, apart from their work inside of it. */
type Command =
  | { kind: 'settings'; settings: [name: string, value: string][] }
  | { kind: 'look' | 'begin' | 'commit' | 'roll back' }
  | { kind: 'tables' | 'temporary tables' | 'statement' }
  // A temporary table, which stays for the next scenario.
  | { kind: 'empty'; table: string };

/** There are only a few texts, and each import executes them anew. */
const commands = new Map<string, Command>();

/** What a text means to the file of the database. */
export function commandOf(sql: string): Command {
  const command = commands.get(sql) ?? readCommand(sql);
  commands.set(sql, command);
  return command;
}

function readCommand(sql: string): Command {
  if (sql.startsWith('PRAGMA')) {
    const found = [...sql.matchAll(/PRAGMA (\w+) = (\w+)/g)];
    return { kind: 'settings', settings: found.map(([, name = '', value = '']) => [name, value]) };
  }
  if (sql === 'BEGIN EXCLUSIVE; COMMIT') return { kind: 'look' };
  if (sql.startsWith('BEGIN')) return { kind: 'begin' };
  if (sql === 'COMMIT') return { kind: 'commit' };
  if (sql === 'ROLLBACK') return { kind: 'roll back' };
  if (/CREATE TEMP (TABLE|VIEW|INDEX)/.test(sql)) return { kind: 'temporary tables' };
  if (sql.includes('CREATE TABLE ')) return { kind: 'tables' };
  if (sql.startsWith('DROP TABLE ')) return { kind: 'empty', table: sql.slice(11) };
  // It is prepared, and only the first one would be.
  if (/;\s*\S/.test(sql)) throw new Error(`several statements at once: ${sql}`);
  return { kind: 'statement' };
}
