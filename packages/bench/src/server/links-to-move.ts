import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { CODE_ALPHABET, CODE_LENGTH, newCode } from './make-links.ts';

/** The host of the old addresses. It becomes a custom domain. */
export const OLD_HOST = 'old.example';
export const PUBLIC_URL = 'https://links.example';

/** A link that moves, with the paths of its old addresses. */
export interface LinkToMove {
  code: string;
  id: string;
  targetUrl: string;
  title: string;
  tags: string[];
  clicks: number;
  createdAt: number;
  paths: string[];
}

/** Links in the order of their codes, in which an export has them, each second with two old addresses, which are in no order. */
export function* linksToMove(count: number): Generator<LinkToMove> {
  const step = Math.floor(CODE_ALPHABET.length ** CODE_LENGTH / count);
  for (let number = 0; number < count; number += 1) {
    const paths = [`/${newCode()}${number}`];
    if (number % 2 === 1) paths.push(`/${newCode()}-${number}`);
    yield {
      code: codeOf(number * step),
      id: crypto.randomUUID(),
      targetUrl: `https://shop.example/products/${number}?utm_source=print&utm_campaign=autumn`,
      title: `Product ${number} of the autumn collection`,
      tags: ['print', `campaign-${number % 100}`],
      clicks: number % 7,
      createdAt: Date.UTC(2024, 4, 1) + number * 1_000,
      paths,
    };
  }
}

function codeOf(value: number): string {
  const base = CODE_ALPHABET.length;
  let [rest, code] = [value, ''];
  while (code.length < CODE_LENGTH) {
    code = CODE_ALPHABET.charAt(rest % base) + code;
    rest = Math.floor(rest / base);
  }
  return code;
}

/** An export of `links export`. */
export async function writeExport(path: string, count: number): Promise<void> {
  await pipeline(Readable.from(lines(count)), createWriteStream(path));
}

function* lines(count: number): Generator<string> {
  yield 'code,short_url,target_url,title,tags,redirect_type,is_active,click_count,created_at,id,domain,aliases\n';
  for (const link of linksToMove(count)) {
    const { code, targetUrl, title, tags, clicks, id } = link;
    const created = new Date(link.createdAt).toISOString();
    const aliases = link.paths.map((path) => `${new URL(PUBLIC_URL).protocol}//${OLD_HOST}${path}`);
    yield `${code},${PUBLIC_URL}/${code},${targetUrl},${title},"${tags}",302,true,${clicks},${created},${id},,${aliases.join(' ')}\n`;
  }
}
