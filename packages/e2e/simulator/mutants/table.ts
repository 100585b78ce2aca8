import { readFileSync, writeFileSync } from 'node:fs';

const PAGE = new URL('../README.md', import.meta.url);
const TABLE = /(?<=<!-- planted bugs -->\n)[\s\S]*(?=<!-- end -->)/;

/** How many seeds it took to find a planted bug; undefined where none of them failed. */
export interface FoundMutant {
  name: string;
  seeds: number | undefined;
}

/** Writes the table of the planted bugs into the simulator's page. */
export function writeTable(found: readonly FoundMutant[]): void {
  const lines = found.map(({ name, seeds }) => `| ${name} | ${seeds ?? 'not found'} |`);
  const table = ['', '| planted bug | found by seed |', '|---|---|', ...lines, '', ''].join('\n');
  writeFileSync(
    PAGE,
    readFileSync(PAGE, 'utf8').replace(TABLE, () => table),
  );
}
