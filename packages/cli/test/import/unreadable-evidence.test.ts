import { mkdirSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
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

/** What becomes of the file of a journal. */
const JOURNAL_DAMAGES: Record<string, (path: string) => void> = {
  'cut in half': (path) => truncateSync(path, readFileSync(path).length / 2),
  'of a few bytes': (path) => truncateSync(path, 7),
  'of zeros': (path) => writeFileSync(path, Buffer.alloc(9_000)),
  'of text': (path) => writeFileSync(path, 'url\n'),
  'of another program': (path) => {
    rmSync(path);
    const db = new DatabaseSync(path);
    db.exec('CREATE TABLE other (id)');
    db.close();
  },
};

describe.each(['', 'state/'])('in the folder "%s" of the input', (folder) => {
  const paths = () => {
    const [journal, output, rejects] = ['shortlink-journal', 'results.csv', 'rejects.csv'].map(
      (end) => world.path(`${folder}input.csv.${end}`),
    );
    return { journal, output, rejects } as Record<'journal' | 'output' | 'rejects', string>;
  };

  beforeEach(async () => {
    mkdirSync(world.path('state'));
    world.write('input.csv', file(row(1), row(2)));
    await world.import(paths());
    world.write('input.csv', file(row(1), row(2), row(3)));
  });

  test.each(Object.entries(JOURNAL_DAMAGES))(
    'a journal %s is refused until what is said about it is done',
    async (_, damage) => {
      const { journal, output } = paths();
      damage(journal);
      const refusal = expect.objectContaining({
        message: expect.stringContaining(journal),
        hint: expect.stringMatching(
          /copy\. Without one, move it into a folder of its own, .*--known/,
        ),
      });
      for (const dryRun of [false, true])
        await expect(world.import({ ...paths(), dryRun })).rejects.toEqual(refusal);
      // Beside the input, another run would find it again.
      const other = { ...paths(), journal: `${journal}2`, output: world.path('other.csv') };
      renameSync(output, world.path('results-of-june'));
      await expect(world.import(other)).rejects.toEqual(refusal);
      mkdirSync(world.path('its-own'));
      renameSync(journal, world.path('its-own/journal'));
      const known = [world.path('results-of-june')];
      expect(await world.import({ ...paths(), known })).toMatchObject({ created: 1, existing: 2 });
    },
  );

  test('a journal of 0 bytes is refused where nothing else names the links', async () => {
    const { journal, output } = paths();
    truncateSync(journal);
    mkdirSync(world.path('aside'));
    renameSync(output, world.path('aside/output'));
    for (const dryRun of [true, false, false]) {
      await expect(world.import({ ...paths(), dryRun })).rejects.toMatchObject({
        code: 'input',
        message: expect.stringContaining(`${journal} has lost its content`),
        hint: expect.stringContaining('remove it, or run with --on-similar create'),
      });
    }
    // Under another name, its results are evidence too.
    renameSync(world.path('aside/output'), world.path('aside.csv'));
    const reuse = { ...paths(), journal: world.path('cut'), onSimilar: 'reuse' } as const;
    world.write('cut', '');
    expect(await world.import(reuse)).toMatchObject({ created: 1, existing: 2 });
    rmSync(world.path('cut'));
    renameSync(world.path('aside.csv'), output);
    expect(await world.import(paths())).toMatchObject({ created: 1, existing: 2 });
    rmSync(journal);
    rmSync(output);
    expect(await world.import(paths())).toMatchObject({ created: 3 });
  });

  test('results of 0 bytes are refused where nothing else names the links, unless the user names them', async () => {
    const { journal, output } = paths();
    truncateSync(output);
    expect(await world.import(paths())).toMatchObject({ created: 1, existing: 2 });
    truncateSync(output);
    rmSync(journal);
    const usual = { ...paths(), usualNames: { output: true, rejects: true } };
    await expect(world.import(usual)).rejects.toThrow(`${output} has lost its content`);
    expect(await world.import({ ...usual, onSimilar: 'create' })).toMatchObject({ created: 3 });
    rmSync(journal);
    truncateSync(output);
    expect(await world.import(paths())).toMatchObject({ created: 3 });
  });
});

test('a service that can be asked knows the links of a journal of 0 bytes', async () => {
  world.service.features = ['lookup'];
  world.write('input.csv', file(row(1), row(2)));
  await world.import();
  rmSync(world.path(RESULTS));
  truncateSync(world.path('input.csv.shortlink-journal'));
  expect(await world.import()).toMatchObject({ created: 0, existing: 2 });
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
    world.service.made.length = 0;
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
    world.write('stray-quote.csv', 'url,b\nhttps://example.com/1,"a"b\n');
    world.write('links-of-bitly.csv', 'long,short_link\nhttps://example.com/1,https://bit.ly/1\n');
    expect(await world.import(week2())).toMatchObject({ created: 2 });
  });

  test('in a folder with too many of them are said not to be looked at', async () => {
    // Those without content are not opened.
    for (let n = 0; n < 1_001; n += 1) world.write(`a${n}.csv`, n < 9 ? 'a\n' : '');
    await world.import({ ...week2(), onSimilar: 'reuse' });
    const message = expect.stringMatching(/ has 1,00\d tables, of which 1,000 were searched/);
    expect(world.events).toContainEqual({ type: 'warning', message });
  });
});
