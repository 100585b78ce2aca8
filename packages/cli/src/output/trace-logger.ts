import type { Logger } from '@shortlink/sdk';
import type { Printer } from './printer.ts';

/** Where the client's log lines go: stderr with `--verbose`, nowhere without. */
export function traceLogger(printer: Printer, verbose: boolean): Logger {
  const write = (level: string) => (message: string, fields?: object) => {
    if (verbose) {
      printer.trace(`${level}: ${message}${fields === undefined ? '' : formatFields(fields)}`);
    }
  };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

function formatFields(fields: object): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${formatValue(value)}`)
    .join('');
}

function formatValue(value: unknown): string {
  if (value instanceof Error) {
    return `${value.name}(${value.message})`;
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}
