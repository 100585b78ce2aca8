/** Reads a CSV file with one of several parsers, in a process of its own, and counts rows and cells. Started by `cli/parsers.ts`. */

import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse';
import Papa from 'papaparse';
import { CsvReader } from '../../../tables/src/read-csv.ts';
import { answerParent } from '../frame/processes.ts';

const [program] = process.argv.slice(2);

interface Counts {
  rows: number;
  cells: number;
}

async function withCsvParse(file: string): Promise<Counts> {
  const counts = { rows: 0, cells: 0 };
  for await (const row of createReadStream(file).pipe(parse())) {
    counts.rows += 1;
    counts.cells += row.length;
  }
  return counts;
}

/** Reads decoded text: given bytes, papaparse breaks characters at the borders of chunks. */
function withPapaparse(file: string): Promise<Counts> {
  const counts = { rows: 0, cells: 0 };
  return new Promise((resolve, reject) => {
    Papa.parse<string[]>(createReadStream(file, 'utf8'), {
      chunk: ({ data }) => {
        for (const row of data) counts.cells += row.length;
        counts.rows += data.length;
      },
      complete: () => resolve(counts),
      error: reject,
      skipEmptyLines: true,
    });
  });
}

async function withCsvReader(file: string): Promise<Counts> {
  const counts = { rows: 0, cells: 0 };
  const reader = new CsvReader({ delimiter: ',', name: file });
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const count = (rows: ReturnType<CsvReader['push']>) => {
    for (const { cells } of rows) counts.cells += cells.length;
    counts.rows += rows.length;
  };
  for await (const bytes of createReadStream(file)) {
    count(reader.push(decoder.decode(bytes, { stream: true })));
  }
  count(reader.end());
  return counts;
}

const PARSERS: Readonly<Record<string, (file: string) => Promise<Counts>>> = {
  'csv-parse': withCsvParse,
  papaparse: withPapaparse,
  CsvReader: withCsvReader,
};

answerParent(async (file: string) => {
  const startedAt = performance.now();
  const counts = await PARSERS[program ?? '']?.(file);
  return { ms: performance.now() - startedAt, ...counts };
});
