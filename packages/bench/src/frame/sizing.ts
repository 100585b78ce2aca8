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

const BILLION = 1e9;

/** The largest table that is comfortable in one piece, in links. */
const ONE_PIECE = 250e6;

const PARTITIONS = 16;

/** Two significant digits: rates of another machine differ by more. */
function about(value: number): string {
  return Number(value.toPrecision(2)).toLocaleString('en-US');
}

/** Requests a second that one core can do. */
function perCore(micros: number): number {
  return 1e6 / micros;
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
| a link (target of 60 characters, title of 14) | ${bytes.table} bytes, and ${bytes.index} bytes of index: ${bytes.table + bytes.index} GB for a billion |
| ${rows.toLocaleString('en-US')} links imported by the CLI | ${about(seconds)} s, ${about(rows / seconds)} a second |
| CPU of a link in a job | ${cpu(million.link)} |
| CPU of a single create | ${cpu(million.create)} |
| CPU of a redirect from the cache | ${cpu(million.cachedRedirect)} |
| CPU of a redirect that is looked up | ${cpu(million.otherRedirect)} |
| requests of one key that are counted | ${about(hotKey.counted)} a second; a plain counter row under the same load ${about(hotKey.countedByRow)} |
| single creates of one key | ${about(hotKey.creates)} a second |
| clicked links that are flushed | ${about(hotKey.clickedLinks)} a second |`;
}

/** The table of the steps to a large service, each with the number from which it is needed. */
export function formatSteps({ million, hotKey }: Sizing): string {
  const { bytes, link, create, cachedRedirect, otherRedirect } = million;
  const bytesOfLink = bytes.table + bytes.index;
  const gigabytes = (links: number, bytesOfEach: number) => about((links * bytesOfEach) / 1e9);
  const fromMemory = perCore(cachedRedirect.servers);
  const cores = Math.ceil(100_000 / fromMemory);
  const lookedUp = about(perCore(otherRedirect.database) / 2);
  const creates = about(16 * perCore(create.database));
  const inBatches = about(create.database / link.database);
  return `| step | needed from |
| --- | --- |
| more instances | ${about(fromMemory)} redirects a second for each core of them, from memory (some 100,000 links an instance): 100,000 a second take ${cores} cores |
| partitions of \`links\`, by the hash of (domain, code) | 250 million links: then the table has ${gigabytes(ONE_PIECE, bytes.table)} GB and its index ${gigabytes(ONE_PIECE, bytes.index)}, and vacuuming, restoring and rebuilding it take too long in one piece. A billion are ${PARTITIONS} partitions of ${gigabytes(BILLION / PARTITIONS, bytesOfLink)} GB. Codes are unique over all domains here, so the hash of the code alone keeps the index unique |
| read replicas for look-ups | ${lookedUp} redirects a second past the cache for each core of the primary, half of what it can do; a replica adds its lag to the second in which changes are seen |
| an event store for clicks (such as ClickHouse, fed from the flush) | ${about(hotKey.clickedLinks)} different links clicked a second, or when more than their number is to be known |
| a CDN | visitors further than 50 ms away, or 100,000 redirects a second. Redirects are \`private\` so that each is counted here: allow it some seconds, and count from its log |
| Citus, or a distributed database that speaks PostgreSQL | ${creates} single creates a second (16 cores of one primary; in batches ${inBatches} times as many), or ${about(1e12 / bytesOfLink / BILLION)} billion links, a terabyte. Links are distributed by code; counters, totals and keys by account |`;
}
