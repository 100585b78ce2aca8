import { formatMachine, type Machine } from './format.ts';

/** Processor time of one request or link, in microseconds. */
export interface Cpu {
  /** Of all server processes together. */
  servers: number;
  database: number;
}

/** What the end-to-end scripts `million` and `hot-key` measured on three instances that share a PostgreSQL. */
export interface Sizing {
  million: {
    machine: Machine;
    rows: number;
    /** How long the import of all rows took. */
    seconds: number;
    /** Bytes of a link in the table and in its indexes. */
    bytes: { table: number; index: number };
    link: Cpu;
    create: Cpu;
    cachedRedirect: Cpu;
    otherRedirect: Cpu;
  };
  /** Rates a second, of one key. */
  hotKey: {
    machine: Machine;
    counted: number;
    /** The same with a plain counter row that each request updates. */
    countedByRow: number;
    creates: number;
    clickedLinks: number;
  };
}

/** Two significant digits: rates of another machine differ by more. */
function about(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en-US');
}

/** In the middle of a sentence. */
const measured = (machine: Machine) => formatMachine(machine).replace(/^M/, 'm');

/** The table of what was measured. */
export function formatSizing({ million, hotKey }: Sizing): string {
  const { rows, seconds, bytes } = million;
  const cpu = ({ servers, database }: Cpu) =>
    `${about(servers)} µs in the servers, ${about(database)} µs in PostgreSQL`;
  return `- The import, and what a request costs: ${measured(million.machine)}
- The rates of one key: ${measured(hotKey.machine)}

| what | measured |
| --- | --- |
| a link (target of 60 characters, title of 14) | ${bytes.table} bytes, and ${bytes.index} bytes of index |
| ${rows.toLocaleString('en-US')} links imported by the CLI | ${about(seconds)} s, ${about(rows / seconds)} a second |
| CPU of a link in a job | ${cpu(million.link)} |
| CPU of a single create | ${cpu(million.create)} |
| CPU of a redirect from the cache | ${cpu(million.cachedRedirect)} |
| CPU of a redirect that is looked up | ${cpu(million.otherRedirect)} |
| requests of one key that are counted | ${about(hotKey.counted)} a second; a plain counter row under the same load ${about(hotKey.countedByRow)} |
| single creates of one key | ${about(hotKey.creates)} a second |
| clicked links that are flushed | ${about(hotKey.clickedLinks)} a second |`;
}
