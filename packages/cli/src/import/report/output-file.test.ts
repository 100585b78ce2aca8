import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { fingerprint } from './keep-changed.ts';
import { type OutputOptions, openOutput } from './output-file.ts';

let directory: string;
let printed: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'shortlink-output-'));
  printed = '';
  own = new Set();
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const at = (name: string) => join(directory, name);
const read = (name: string) => readFileSync(at(name), 'utf8');
const stdout: OutputOptions['stdout'] = {
  write: (bytes, done) => {
    printed += Buffer.from(bytes).toString();
    done();
  },
};

/** What was written in a test. */
let own: Set<string>;

const ownFiles = (previous?: string) => ({
  hasWritten: (content: string) => own.has(content) || content === previous,
  willWrite: (content: string) => void own.add(content),
});

/** Where a link leads; undefined for one that is gone by now. */
function linkOf(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

async function write(path: string, text: string, previous?: string) {
  const output = await openOutput(path, { stdout, ownFiles: ownFiles(previous) });
  await output.write(text);
  return await output.finish();
}

describe('standard output', () => {
  /** A pipe whose reader leaves after so many milliseconds, and what it was given until then. */
  async function readFor(ms: number, awaitsReader = true) {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let isOpen = true;
    setTimeout(() => {
      isOpen = false;
    }, ms);
    let read = '';
    const pipe: OutputOptions['stdout'] = {
      isPipe: true,
      write: (bytes, done) => {
        if (isOpen) read += Buffer.from(bytes).toString();
        done(isOpen ? null : Object.assign(new Error('EPIPE'), { code: 'EPIPE' }));
      },
    };
    const output = await openOutput('-', { stdout: pipe, awaitsReader });
    await output.write('a\nb\n');
    const finished = output.finish();
    finished.catch(() => {});
    await vi.advanceTimersByTimeAsync(2_000);
    return { finished, read: () => read };
  }

  test('a reader that ends late has not read all of it', async () => {
    const { finished, read } = await readFor(900);
    await expect(finished).rejects.toThrow('its reader has closed it');
    expect(read()).toBe('a\nb');
  });

  test('a reader that reads to the end gets all of it', async () => {
    const { finished, read } = await readFor(5_000);
    await finished;
    expect(read()).toBe('a\nb\n');
  });

  test('nobody waits where nothing depends on it', async () => {
    const { finished, read } = await readFor(1, false);
    await finished;
    expect(read()).toBe('a\nb\n');
  });
});

describe('a regular file', () => {
  test('is there once it is finished, and nothing else', async () => {
    const output = await openOutput(at('out.csv'), { stdout });
    await output.write('a\n');
    expect(readdirSync(directory)).not.toContain('out.csv');
    const kept = await output.finish();
    expect(readdirSync(directory)).toEqual(['out.csv']);
    expect(read('out.csv')).toBe('a\n');
    expect(kept).toBeUndefined();
  });

  test('large texts, in any pieces, are as they were', async () => {
    const line = `${'é'.repeat(50)},🦊\n`;
    const output = await openOutput(at('out.csv'), { stdout });
    for (let count = 0; count < 20_000; count += 1) await output.write(line);
    await output.write(line.repeat(20_000));
    await output.finish();
    expect(read('out.csv')).toBe(line.repeat(40_000));
  });

  test('discarded, it leaves what was there', async () => {
    writeFileSync(at('out.csv'), 'old\n');
    const output = await openOutput(at('out.csv'), { stdout });
    await output.write('new\n');
    await output.discard();
    expect(readdirSync(directory)).toEqual(['out.csv']);
    expect(read('out.csv')).toBe('old\n');
  });

  test('keeps its mode', async () => {
    writeFileSync(at('out.csv'), 'old\n');
    for (const mode of [0o600, 0o640, 0o666]) {
      chmodSync(at('out.csv'), mode);
      const output = await openOutput(at('out.csv'), { stdout, ownFiles: ownFiles() });
      await output.write(`${mode}\n`.repeat(200_000));
      // Nobody else may read the new one meanwhile.
      for (const name of readdirSync(directory).filter((one) => one.endsWith('.partial')))
        expect(statSync(at(name)).mode & 0o777).toBe(0o600);
      await output.finish();
      expect(statSync(at('out.csv')).mode & 0o777).toBe(mode);
    }
  });

  test('keeps its owner, where we may give it one', async ({ skip }) => {
    writeFileSync(at('out.csv'), 'old\n');
    if (process.getuid?.() !== 0) skip('only root may');
    chownSync(at('out.csv'), 1_234, 1_235);
    await write(at('out.csv'), 'new\n');
    expect(statSync(at('out.csv'))).toMatchObject({ uid: 1_234, gid: 1_235 });
  });

  test('two runs at once: each writes a whole file, the last one stays', async () => {
    const [one, two] = [
      await openOutput(at('out.csv'), { stdout, ownFiles: ownFiles() }),
      await openOutput(at('out.csv'), { stdout, ownFiles: ownFiles() }),
    ];
    await Promise.all([one.write('one\n'), two.write('two\n')]);
    await one.finish();
    expect(await two.finish()).toBeUndefined();
    expect(read('out.csv')).toBe('two\n');
    expect(readdirSync(directory)).toEqual(['out.csv']);
  });

  test('what a killed run left is removed once it is a day old', async () => {
    const name = (letter: string) => `.out.csv.${letter.repeat(24)}.partial`;
    const now = Date.now() / 1000;
    for (const letter of ['a', 'b']) writeFileSync(at(name(letter)), 'half');
    utimesSync(at(name('a')), now - 90_000, now - 90_000);
    for (const old of ['.out.csv.mine.partial', `${name('a')}-journal`]) {
      writeFileSync(at(old), 'x');
      utimesSync(at(old), now - 90_000, now - 90_000);
    }
    await write(at('out.csv'), 'new\n');
    expect(readdirSync(directory).sort()).toEqual([name('b'), '.out.csv.mine.partial', 'out.csv']);
  });

  test('what a killed run left of a long name is removed too, wherever that is cut', async () => {
    const name = `${'x'.repeat(59)}😀.csv`;
    const killed = await openOutput(at(name), { stdout, ownFiles: ownFiles() });
    await killed.write('half'.repeat(100_000));
    const [left = ''] = readdirSync(directory);
    utimesSync(at(left), 0, 0);
    await write(at(name), 'new\n');
    expect(readdirSync(directory)).toEqual([name]);
    await killed.discard();
  });
});

describe('a file that a person changed', () => {
  test('is kept as .old, and no .old is lost', async () => {
    await write(at('rejects.csv'), 'first\n');
    for (const [count, edit] of ['corrected\n', 'corrected again\n'].entries()) {
      writeFileSync(at('rejects.csv'), edit);
      const kept = await write(at('rejects.csv'), `next ${count}\n`);
      expect(kept).toBe(at(count === 0 ? 'rejects.csv.old' : 'rejects.csv.old2'));
      expect(read('rejects.csv')).toBe(`next ${count}\n`);
    }
    expect(read('rejects.csv.old')).toBe('corrected\n');
    expect(read('rejects.csv.old2')).toBe('corrected again\n');
    // As after a run that was killed before it could replace the file.
    writeFileSync(at('rejects.csv'), 'corrected again\n');
    expect(await write(at('rejects.csv'), 'last\n')).toBe(at('rejects.csv.old2'));
    expect(readdirSync(directory)).toHaveLength(3);
  });

  test('is named as the user has named it', async () => {
    writeFileSync(at('out.csv'), 'edited\n');
    const path = relative(process.cwd(), at('out.csv'));
    expect(await write(path, 'new\n')).toBe(`${path}.old`);
  });

  test('is none that we write: it is remembered before it has its name', async () => {
    writeFileSync(at('out.csv'), '');
    const before: string[] = [];
    const willWrite = () => void before.push(read('out.csv'));
    const options = { stdout, ownFiles: { ...ownFiles(), willWrite } };
    const output = await openOutput(at('out.csv'), options);
    await output.write('new\n');
    await output.finish();
    expect([before, read('out.csv')]).toEqual([[''], 'new\n']);
  });

  test('is distinguished from one that we wrote, again and again', async () => {
    for (let count = 0; count < 20; count += 1) {
      expect(await write(at('out.csv'), `${count}\n`)).toBeUndefined();
    }
    expect(readdirSync(directory)).toEqual(['out.csv']);
  });

  test('may be empty, or the same as what is written: nothing to keep', async () => {
    writeFileSync(at('out.csv'), '');
    expect(await write(at('out.csv'), 'a\n')).toBeUndefined();
    writeFileSync(at('out.csv'), 'b\n');
    expect(await write(at('out.csv'), 'b\n')).toBeUndefined();
  });

  test.each([
    ['nothing', 'a\nb\n', 'a\nb\nc\n', false],
    ['nothing, where its last line has no end', 'a\nb', 'x\na\nb\nc\n', false],
    ['nothing of many lines', 'a\n'.repeat(300_000), `b\n${'a\n'.repeat(300_000)}`, false],
    ['a line', 'a\nb\nc\n', 'a\nc\n', true],
    ['a line that is there once', 'a\na\n', 'a\nb\n', true],
    ['the order', 'a\nb\n', 'b\na\n', true],
    ['a byte that is no text', Buffer.from([0xfe, 10]), Buffer.from([0xff, 10]), true],
    ['a line that is too long to compare', 'a'.repeat(6e6), `${'a'.repeat(6e6)}\nb\n`, true],
  ])('is kept where something would be lost: %s', async (_, before, after, isKept) => {
    writeFileSync(at('out.csv'), before);
    const forgotten = { ...ownFiles(), remembersNone: true };
    const output = await openOutput(at('out.csv'), { stdout, ownFiles: forgotten });
    await output.write(after);
    expect(await output.finish()).toBe(isKept ? at('out.csv.old') : undefined);
    // Comparing millions of bytes one by one takes seconds.
    expect(readFileSync(at('out.csv')).equals(Buffer.from(after))).toBe(true);
  });

  test('is kept where a person took lines out, as far as is known what was written', async () => {
    await write(at('out.csv'), 'a\nb\n');
    writeFileSync(at('out.csv'), 'a\n');
    expect(await write(at('out.csv'), 'a\nb\n')).toBe(at('out.csv.old'));
  });

  test('a fingerprint says which content may be replaced, whatever its time', async () => {
    writeFileSync(at('in.csv'), 'as it was read\n');
    const asRead = await fingerprint(at('in.csv'));
    expect(await write(at('in.csv'), 'filled in\n', asRead)).toBeUndefined();
    const written = await fingerprint(at('in.csv'));
    utimesSync(at('in.csv'), 1, 1);
    expect(await write(at('in.csv'), 'more\n', written)).toBeUndefined();
    // Edited while a run that has read it was under way.
    writeFileSync(at('in.csv'), 'edited\n');
    expect(await write(at('in.csv'), 'most\n', asRead)).toBe(at('in.csv.old'));
    expect(read('in.csv.old')).toBe('edited\n');
  });
});

describe('links', () => {
  test('the target is replaced, the link stays', async () => {
    mkdirSync(at('data'));
    writeFileSync(at('data/real.csv'), '');
    symlinkSync('data/real.csv', at('link'));
    symlinkSync('link', at('link2'));
    await write(at('link2'), 'new\n');
    expect(readlinkSync(at('link2'))).toBe('link');
    expect(readlinkSync(at('link'))).toBe('data/real.csv');
    expect(read('data/real.csv')).toBe('new\n');
    expect(lstatSync(at('data/real.csv')).isSymbolicLink()).toBe(false);
  });

  test('to a file that is not there yet', async () => {
    mkdirSync(at('data'));
    symlinkSync('data/new.csv', at('link'));
    await write(at('link'), 'new\n');
    expect(read('data/new.csv')).toBe('new\n');
    expect(readlinkSync(at('link'))).toBe('data/new.csv');
  });

  test('in a circle, or into a folder that is not there', async () => {
    symlinkSync('b', at('a'));
    symlinkSync('a', at('b'));
    symlinkSync('none/new.csv', at('c'));
    await expect(write(at('a'), 'x')).rejects.toThrow('a chain of symbolic links without an end');
    await expect(write(at('c'), 'x')).rejects.toMatchObject({ code: 'input' });
  });

  test('that somebody prepared beside the output are not followed', async () => {
    writeFileSync(at('.bashrc'), 'mine\n');
    for (const name of ['out.csv.partial', '.out.csv.partial', 'out.csv.tmp', 'out.csv.old']) {
      symlinkSync('.bashrc', at(name));
    }
    writeFileSync(at('out.csv'), 'changed by hand\n');
    const kept = await write(at('out.csv'), 'new\n');
    expect(read('.bashrc')).toBe('mine\n');
    expect(readlinkSync(at('out.csv.old'))).toBe('.bashrc');
    expect(kept).toBe(at('out.csv.old2'));
    expect(read('out.csv.old2')).toBe('changed by hand\n');
  });
});

describe('what is no regular file', () => {
  test('a pipe is written into', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$0"', at('pipe')]);
    const reader = spawn('cat', [at('pipe')], { stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    reader.stdout.on('data', (bytes) => {
      text += bytes;
    });
    const ended = new Promise((resolve) => reader.on('close', resolve));
    const line = `${'x'.repeat(99)}\n`;
    await write(at('pipe'), line.repeat(10_000));
    await ended;
    expect(text).toBe(line.repeat(10_000));
    expect(lstatSync(at('pipe')).isFIFO()).toBe(true);
  });

  test('a pipe whose reader goes away', async () => {
    execFileSync('sh', ['-c', 'mkfifo "$0"', at('pipe')]);
    const reader = spawn('head', ['-c', '10', at('pipe')], { stdio: 'ignore' });
    const ended = new Promise((resolve) => reader.on('exit', resolve));
    const output = await openOutput(at('pipe'), { stdout });
    await output.write('0123456789');
    const writing = (async () => {
      for (let count = 0; count < 100; count += 1) await output.write('x'.repeat(1024 * 1024));
    })();
    await expect(writing).rejects.toThrow(
      `${at('pipe')} can't be written: its reader has closed it`,
    );
    await ended;
    await output.discard();
  });

  test('/dev/null stays a device', async () => {
    await write('/dev/null', 'x');
    expect(statSync('/dev/null').isCharacterDevice()).toBe(true);
    expect(readdirSync('/dev').filter((name) => name.startsWith('.null'))).toEqual([]);
  });

  test('/dev/full is a full disk', async () => {
    await expect(write('/dev/full', 'x')).rejects.toMatchObject({
      message: "/dev/full can't be written: the disk is full.",
      code: 'system',
    });
  });

  test.runIf(process.platform === 'linux')(
    'one that could not be written stays not open, nor one that is given up',
    async () => {
      const open = () =>
        readdirSync('/proc/self/fd').filter(
          (name) => linkOf(`/proc/self/fd/${name}`) === '/dev/full',
        );
      const before = open().length;
      await expect(write('/dev/full', 'x')).rejects.toThrow('the disk is full');
      const output = await openOutput('/dev/full', { stdout });
      await output.discard();
      expect(open()).toHaveLength(before);
    },
  );

  test('-, /dev/stdout and a link to it are standard output', async () => {
    symlinkSync('/dev/stdout', at('out'));
    for (const path of ['-', '/dev/stdout', '/dev/fd/1', '/proc/self/fd/1', at('out')]) {
      printed = '';
      expect(await write(path, 'ä\n')).toBeUndefined();
      expect(printed).toBe('ä\n');
    }
    expect(readlinkSync(at('out'))).toBe('/dev/stdout');
  });

  test('a file that the shell opened is written into, not replaced', async () => {
    writeFileSync(at('log'), 'before\n');
    const descriptor = openSync(at('log'), 'a');
    const { ino } = statSync(at('log'));
    await write(`/dev/fd/${descriptor}`, 'after\n');
    expect(read('log')).toBe('before\nafter\n');
    expect(statSync(at('log')).ino).toBe(ino);
  });

  test('standard output that fails', async () => {
    const broken: OutputOptions['stdout'] = {
      write: (_, done) => done(Object.assign(new Error('no space'), { code: 'ENOSPC' })),
    };
    const output = await openOutput('-', { stdout: broken });
    await output.write('x');
    await expect(output.finish()).rejects.toThrow("the output can't be written: the disk is full.");
  });
});

test('a file that cannot be written any more is named once', async () => {
  const path = at('out.csv');
  const output = await openOutput(path, { stdout });
  rmSync(directory, { recursive: true });
  await output.write('x');
  await expect(output.finish()).rejects.toMatchObject({
    message: `${path} can't be written: there is no such file or folder.`,
    code: 'system',
  });
});

describe("what can't be written is refused before anything is sent", () => {
  test('a folder', async () => {
    await expect(openOutput(directory, { stdout })).rejects.toThrow(`${directory} is a directory`);
  });

  test.each([
    ['a folder that is not there', () => at('none/out.csv'), /no such file or folder/],
    ['a folder that nobody can write to', () => '/proc/out.csv', /can't be written/],
    ['a part of the path that is a file', () => '/etc/hostname/out.csv', /not a folder/],
    ['a name that is too long', () => at('x'.repeat(300)), /too long/],
  ])('%s', async (_, path, words) => {
    await expect(openOutput(path(), { stdout })).rejects.toThrow(words);
    await expect(openOutput(path(), { stdout })).rejects.toMatchObject({ code: 'input' });
  });

  test('a file that is protected, and one in a folder that is', async () => {
    // For root, nothing is protected: this becomes another user, who may not be allowed to read the program.
    writeFileSync(at('out.csv'), 'mine\n', { mode: 0o444 });
    mkdirSync(at('folder'), { mode: 0o555 });
    chmodSync(directory, 0o777);
    const script = `
      const { openOutput } = await import(${JSON.stringify(new URL('./output-file.ts', import.meta.url).href)});
      if (process.getuid?.() === 0) {
        process.setgid(65_534);
        process.setuid(65_534);
      }
      for (const path of ${JSON.stringify([at('out.csv'), at('folder/out.csv')])}) {
        await openOutput(path, { stdout: process.stdout }).then(
          () => console.log('opened'),
          (error) => console.log(error.message),
        );
      }`;
    const printedLines = execFileSync(
      process.execPath,
      ['--experimental-strip-types', '--no-warnings', '--input-type=module', '-e', script],
      { encoding: 'utf8', cwd: '/' },
    );
    expect(printedLines.trim().split('\n')).toEqual([
      `${at('out.csv')} can't be written: permission denied`,
      `${at('folder/out.csv')} can't be written: permission denied`,
    ]);
    expect(read('out.csv')).toBe('mine\n');
  });
});
