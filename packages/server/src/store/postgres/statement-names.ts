/**
 * A name for each text of a statement, so that a connection parses and plans it once. Our statements are constants, a few
 * dozen, so the map stays small.
 */
export function statementNames(): (sql: string) => string {
  const names = new Map<string, string>();
  return (sql) => {
    let name = names.get(sql);
    if (name === undefined) {
      name = `sl_${names.size}`;
      names.set(sql, name);
    }
    return name;
  };
}
