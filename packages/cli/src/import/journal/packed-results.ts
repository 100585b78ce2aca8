import type { RecordedResult } from '@shortlink/sdk';
import type { PackedItem, StepRecord } from './records.ts';

type CompletedRecord = Extract<StepRecord, { t: 'completed' }>;
type Packed = { prefix: string; codes: readonly string[] } | { items: readonly PackedItem[] };

/** The target URL that was sent, by the place in the batch. */
type TargetAt = (index: number) => string | undefined;

/**
 * The smallest form of a batch's results. A target URL that came back different from `targetAt` is kept, so that a later run sees
 * it too; without `targetAt` all are known to be the same.
 */
export function packResults(results: readonly RecordedResult[], targetAt?: TargetAt): Packed {
  const [first] = results;
  const prefix =
    first?.code !== undefined && first.short_url?.endsWith(first.code)
      ? first.short_url.slice(0, first.short_url.length - first.code.length)
      : undefined;
  const codes: string[] = [];
  if (prefix !== undefined) {
    for (const { code, short_url, error, target_url } of results) {
      const isPlain = code !== undefined && isJoined(short_url, prefix, code) && !error;
      if (!isPlain || (targetAt && !isSameTarget(target_url, targetAt(codes.length)))) break;
      codes.push(code);
    }
  }
  if (prefix !== undefined && codes.length === results.length) return { prefix, codes };
  return { items: results.map((result, index) => packItem(result, index, targetAt)) };
}

/** Whether `text` is `prefix + code`, without adding them up. */
function isJoined(text: string | undefined, prefix: string, code: string): boolean {
  if (text === undefined || text.length !== prefix.length + code.length) return false;
  return text.startsWith(prefix) && text.endsWith(code);
}

function packItem(result: RecordedResult, index: number, targetAt?: TargetAt): PackedItem {
  const { code = null, short_url = null, error, target_url } = result;
  if (targetAt && target_url !== undefined && !isSameTarget(target_url, targetAt(index))) {
    return [code, short_url, error || null, target_url];
  }
  return error ? [code, short_url, error] : [code, short_url];
}

/** Some services give a URL back as a parser writes it, such as with a slash after the host. */
function isSameTarget(returned: string | undefined, sent: string | undefined): boolean {
  if (returned === sent) return true;
  if (returned === undefined || sent === undefined) return false;
  const href = URL.parse(returned)?.href;
  return href !== undefined && href === URL.parse(sent)?.href;
}

export function unpackResults(record: CompletedRecord): RecordedResult[] {
  if ('codes' in record) {
    return record.codes.map((code) => ({ code, short_url: record.prefix + code }));
  }
  return record.items.map(([code, short_url, error, target_url]) => ({
    ...(code !== null && { code }),
    ...(short_url !== null && { short_url }),
    ...(error && { error }),
    ...(target_url !== undefined && { target_url }),
  }));
}
