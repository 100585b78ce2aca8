import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Shortlink } from '@shortlink/sdk';
import { CsvReader } from '../../../tables/src/read-csv.ts';
import { runImport } from '../../src/import/run-import.ts';
import type { ImportEvent, ImportSettings, ImportSummary } from '../../src/import/types.ts';
import { FakeService } from './fake-service.ts';

/** A directory, a service, and imports of files in the one into the other. */
export class ImportHarness {
  readonly directory = mkdtempSync(join(tmpdir(), 'shortlink-harness-'));
  service = new FakeService();
  events: ImportEvent[] = [];
  stdout = '';
  stop = new AbortController();
  hardStop = new AbortController();
  onEvent: (event: ImportEvent) => void = () => undefined;
  wallClock: () => number = Date.now;
  /** @default that of the wall clock */
  uptime: (() => number) | undefined;
  /** Of the client. */
  maxRetries = 0;

  path(name: string): string {
    return join(this.directory, name);
  }

  write(name: string, content: string | Uint8Array): void {
    writeFileSync(this.path(name), content);
  }

  read(name: string): string {
    return readFileSync(this.path(name), 'utf8');
  }

  files(): string[] {
    return readdirSync(this.directory).sort();
  }

  /** Writes `input.csv` with so many rows. */
  writeRows(count: number): void {
    let text = 'name,url\n';
    for (let index = 0; index < count; index += 1) {
      text += `n${index},https://example.com/${index}\n`;
    }
    this.write('input.csv', text);
  }

  /** Of several imports, as a command makes it. @default one for each */
  client: Shortlink | undefined;

  settings(changes: Partial<ImportSettings> = {}): ImportSettings {
    const file = changes.file ?? this.path('input.csv');
    const base = file === '-' ? this.path('stdin') : file;
    return {
      file,
      map: {},
      inputFormat: 'auto',
      output: `${base}.results.csv`,
      outputFormat: 'csv',
      rejects: `${base}.rejects.csv`,
      journal: file === '-' ? { folder: this.directory } : `${base}.shortlink-journal`,
      restart: false,
      defaults: {},
      batchSize: 'auto',
      concurrency: 4,
      dryRun: false,
      maxRejects: 0,
      onUnknown: 'stop',
      idempotency: false,
      baseUrl: 'https://api.example',
      inPlace: false,
      ...changes,
    };
  }

  async import(
    changes: Partial<ImportSettings> = {},
    stdin: Iterable<Uint8Array> = [],
  ): Promise<ImportSummary> {
    this.events = [];
    this.stop = new AbortController();
    this.hardStop = new AbortController();
    return await runImport(this.settings(changes), {
      client:
        this.client ??
        this.service.client({ idempotency: changes.idempotency, maxRetries: this.maxRetries }),
      stdin: (async function* () {
        yield* stdin;
      })(),
      stdout: {
        write: (text, done) => {
          this.stdout += text;
          done();
        },
      },
      onEvent: (event) => {
        this.events.push(event);
        this.onEvent(event);
      },
      signal: this.hardStop.signal,
      stopSignal: this.stop.signal,
      requestCount: () => this.service.requests,
      now: () => performance.now(),
      uptime: () => this.uptime?.() ?? this.wallClock(),
      wallClock: () => this.wallClock(),
    });
  }

  /** Rows of a CSV file in the directory, the header first, without what their links were created with. */
  table(name = 'input.csv.results.csv'): string[][] {
    const reader = new CsvReader({ delimiter: ',', name });
    const rows = [...reader.push(this.read(name)), ...reader.end()];
    const column = rows[0]?.cells.indexOf('made_for') ?? -1;
    return rows.map(({ cells }) => cells.filter((_, index) => index !== column));
  }

  /** Values of the `status` column of the results. */
  statuses(name?: string): string[] {
    return this.table(name)
      .slice(1)
      .map((row) => row.at(-2) ?? '');
  }

  /** Links that the service made, and how many of them it was asked for more than once. */
  created(): { links: number; duplicates: number } {
    return { links: this.service.created.size, duplicates: this.service.duplicates };
  }

  dispose(): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}
