import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ImportHarness } from './import-harness.ts';

/** A service that has the three endpoints of the protocol and nothing else. */
let world: ImportHarness;
beforeEach(() => {
  world = new ImportHarness();
});
afterEach(() => world.dispose());

const RESULTS = 'input.csv.results.csv';
const row = (n: number) => `https://example.com/${n},Tür ${n}`;
const file = (...rows: string[]) => ['url,title', ...rows, ''].join('\n');
const withHeader = (header: string) => (text: string) => text.replace(/^.*\n/, `${header}\n`);
const afterFirstRow = (line: string) => (text: string) =>
  text.replace(/\n(.*)\n/, `\n$1\n${line}\n`);

/** What people and machines do to a results file, so that it can't be read as one. */
const DAMAGES: Record<string, (text: string) => string | Buffer> = {
  'saved by a spreadsheet as Windows-1252': (text) => Buffer.from(text, 'latin1'),
  'with zeros at its end, as after a power cut': (text) => `${text}${'\0'.repeat(100)}`,
  'in UTF-16 without a mark': (text) => Buffer.from(text, 'utf16le'),
  'with a translated header': withHeader('Ziel,Titel,Code,Kurzlink,Zustand,Fehler,made_for'),
  'with a header of which two names are left': withHeader('Ziel,T,code,Kurzlink,status,Fehler,x'),
  'without its target column': (text) => text.replaceAll(/^[^,]*,/gm, ''),
  'with marks of a merge conflict': afterFirstRow('=======\n>>>>>>> theirs'),
  'with a row of totals': (text) => `${text},,3 links,,,,\n`,
  'with a row of totals in its middle': afterFirstRow(',,3 links,,,,'),
  'cut off in its last target': (text) => text.replace(/2,Tür 2.*\n$/, ''),
  'cut off behind its last status': (text) => text.replace(/,,\w+\n$/, ''),
  'cut off in its last made_for': (text) => text.replace(/\w{4}\n$/, 'ff'),
  'cut off in a made_for of digits alone': (text) => text.replace(/\w{8}\n$/, '123'),
  'cut off before its last made_for': (text) => text.replace(/\w{8}\n$/, ''),
  'cut off behind one character of a row': (text) => text.replace(/\n(.).*\n$/, '\n$1'),
  'with a created link that lost its cell': (text) => text.replace(/https:\/\/s\.example\/\w+/, ''),
};

/** Nothing is created, whether the results are used or refused by name. */
async function createsNothing(result: Promise<{ created: number }>): Promise<void> {
  const { created } = await result.catch((error: Error) => {
    expect(error.message).toContain(RESULTS);
    return { created: 0 };
  });
  expect(created).toBe(0);
}

describe.each(Object.entries(DAMAGES))('results %s name links', (_, damage) => {
  beforeEach(async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    rmSync(world.path('input.csv.shortlink-journal'));
    world.write(RESULTS, damage(world.read(RESULTS)));
  });

  test('where an import writes them', async () => {
    await createsNothing(world.import());
    await createsNothing(world.import({ known: [world.path(RESULTS)] }));
  });

  test('and an import that names them is not told to name the encoding of its input', async () => {
    renameSync(world.path(RESULTS), world.path('known.csv'));
    const known = { file: world.path('b.csv'), known: [world.path('known.csv')] };
    renameSync(world.path('input.csv'), world.path('b.csv'));
    await world.import(known).catch(({ hint = '' }: { hint?: string }) => {
      expect(hint).not.toContain('--encoding');
    });
  });

  test('beside an input of another name, until a person decides', async () => {
    renameSync(world.path('input.csv'), world.path('week2.csv'));
    const week2 = { file: world.path('week2.csv') };
    await expect(world.import(week2)).rejects.toMatchObject({
      message: expect.stringContaining(RESULTS),
      hint: expect.stringContaining('--on-similar create'),
    });
    await createsNothing(world.import({ ...week2, onSimilar: 'reuse' }));
  });
});

describe('files beside an input', () => {
  const week2 = () => ({ file: world.path('week2.csv') });

  beforeEach(async () => {
    world.write('input.csv', file(row(1), row(2)));
    await world.import();
    world.write('week2.csv', file(row(1), row(2)));
  });

  const forget = () => {
    rmSync(world.path(RESULTS));
    rmSync(world.path('input.csv.shortlink-journal'));
  };

  test('that hold targets and short URLs alone name links too', async () => {
    const [, ...rows] = world.table();
    forget();
    const printed = rows.map(([url, , code]) => `${url},https://api.example/${code}\n`);
    world.write('printed.csv', `url,printed\n${printed.join('')}`);
    await expect(world.import(week2())).rejects.toThrow('printed.csv names them');
    const reused = { ...week2(), onSimilar: 'reuse' } as const;
    expect(await world.import(reused)).toMatchObject({ created: 0, existing: 2 });
  });

  test('that hold short URLs of another host count where the journal knows that host', async () => {
    world.write('week2.csv', file(row(3)));
    await world.import(week2());
    const [, [url, , , short] = []] = world.table();
    forget();
    world.write('printed.csv', `url,printed\n${url},${short}\n`);
    world.write('week2.csv', file(row(3), row(1)));
    await expect(world.import(week2())).rejects.toThrow('printed.csv names them');
  });

  test.each([
    ['Ziel,Bild', 'https://img.example/1'],
    // The column that has the usual name was not the one of the targets.
    ['Ziel,url', 'https://img.example/1'],
  ])('of an import that was told the column of its targets: %s', async (header, image) => {
    rmSync(world.path('input.csv'));
    forget();
    world.service.created.clear();
    world.write('first.csv', `${header}\nhttps://example.com/1,${image}\n`);
    await world.import({ file: world.path('first.csv'), map: { target_url: 'Ziel' } });
    rmSync(world.path('first.csv.shortlink-journal'));
    const settings = week2();
    await expect(world.import(settings)).rejects.toThrow('first.csv.results.csv names them');
    const known = [world.path('first.csv.results.csv')];
    expect(await world.import({ ...settings, known })).toMatchObject({ created: 1, existing: 1 });
  });

  test('that are half a journal are refused', async () => {
    rmSync(world.path(RESULTS));
    const journal = readFileSync(world.path('input.csv.shortlink-journal'));
    writeFileSync(world.path('input.csv.shortlink-journal'), journal.subarray(0, 6_000));
    await expect(world.import(week2())).rejects.toMatchObject({
      message: expect.stringContaining('input.csv.shortlink-journal'),
      hint: expect.stringContaining('--on-similar create'),
    });
  });

  test('that are results packed with gzip, and cut off, are refused', async () => {
    const rows = Array.from({ length: 200 }, (_, n) => row(n + 1));
    world.write('input.csv', file(...rows));
    await world.import();
    const packed = gzipSync(readFileSync(world.path(RESULTS)));
    forget();
    world.write('a.csv.gz', packed.subarray(0, packed.length - 8));
    await expect(world.import(week2())).rejects.toThrow('a.csv.gz');
    world.write('a.csv.gz', packed.subarray(0, packed.length / 2));
    await expect(world.import(week2())).rejects.toThrow('a.csv.gz');
  });

  test('that are cut off in their last short URL are said to be cut off', async () => {
    world.write(RESULTS, world.read(RESULTS).slice(0, -30));
    rmSync(world.path('input.csv.shortlink-journal'));
    await expect(world.import()).rejects.toThrow(`${RESULTS} is cut off: its last line, 3,`);
  });

  test('that are JSON Lines without the end of the last one are refused', async () => {
    const lines = world.path('lines.jsonl');
    world.write(
      'lines.jsonl',
      '{"url":"https://example.com/1"}\n{"url":"https://example.com/2"}\n',
    );
    forget();
    await world.import({ file: lines, output: world.path('r.jsonl'), outputFormat: 'jsonl' });
    rmSync(world.path('lines.jsonl.shortlink-journal'));
    world.write('r.jsonl', world.read('r.jsonl').slice(0, -40));
    await expect(world.import(week2())).rejects.toThrow('r.jsonl is cut off');
  });

  test.each(['.old', '.bak', ' (1)', '~', '-of-last-week.db'])(
    'that are journals under other names are known by what they are: %s',
    async (end) => {
      rmSync(world.path(RESULTS));
      const name = `input.csv.shortlink-journal${end}`;
      renameSync(world.path('input.csv.shortlink-journal'), world.path(name));
      await expect(world.import(week2())).rejects.toThrow(`${name} names them`);
      await expect(world.import()).rejects.toThrow(`${name} names them`);
    },
  );

  test.each(['.bak', '~'])('that are results which an editor has kept: %s', async (end) => {
    renameSync(world.path(RESULTS), world.path(`${RESULTS}${end}`));
    rmSync(world.path('input.csv.shortlink-journal'));
    await expect(world.import(week2())).rejects.toThrow(`${RESULTS}${end} names them`);
  });

  test('of other people, whether they can be read or not, are none of ours', async () => {
    forget();
    world.write('notes.txt', Buffer.from('Tür and Tor\n\0\0', 'latin1'));
    world.write('other.csv', 'a,b\n"1,2\n');
    world.write('links-of-bitly.csv', 'long,short_link\nhttps://example.com/1,https://bit.ly/1\n');
    expect(await world.import(week2())).toMatchObject({ created: 2 });
  });

  test('in a folder with too many of them are said not to be looked at', async () => {
    for (let n = 0; n < 1_001; n += 1) world.write(`a${n}.csv`, 'a\n');
    await world.import({ ...week2(), onSimilar: 'reuse' });
    const message = expect.stringMatching(/ has 1,00\d tables, of which 1,000 were searched/);
    expect(world.events).toContainEqual({ type: 'warning', message });
  });
});
