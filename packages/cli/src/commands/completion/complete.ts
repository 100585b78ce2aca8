import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command, Option } from 'commander';
import { configPath, readConfig } from '../../config/config-file.ts';
import { LINK_FIELDS } from '../../import/types.ts';
import type { Io } from '../../io.ts';
import { buildProgram } from '../../program.ts';
import { firstSentence } from '../help.ts';
import { TABLE_FIELDS } from '../verify/verify.ts';

/** What may stand at the cursor. */
interface Offer {
  /** The whole word. */
  word: string;
  description?: string | undefined;
}

/** The shell's own completion of files: its script knows this word. */
const FILES: Offer[] = [{ word: ':file' }];

/**
 * What `shortlink __complete <shell> <words>` prints: a line for each word that may stand at the cursor, as the script of the shell
 * wants it. bash gives the index of the word at the cursor first, and its words as it splits them.
 */
export async function complete([shell, ...rest]: readonly string[], io: Io): Promise<string> {
  // bash cuts words at = and :, and leaves quotes where they are.
  const [index = '', ...parts] = rest;
  const cut = shell === 'bash' ? parts.slice(0, Number(index) + 1) : [];
  const words = shell === 'bash' ? joined(cut).slice(1).map(unquoted) : rest;
  const offers = await offersFor(words, io);
  if (offers === FILES) return ':file\n';
  const last = words.at(-1) ?? '';
  const typed = cut.at(-1) ?? '';
  // Which characters are code between quotes depends on the quote, so that only harmless ones are offered there.
  const isQuoted = /["']/.test(typed.replaceAll(/\\./g, ''));
  return (
    offers
      .filter(({ word }) => shell !== 'bash' || word.startsWith(last))
      // What a file holds must not move the cursor, nor hide.
      .filter(({ word }) => !/[\p{Cc}\p{Cf}]/u.test(word))
      .filter(({ word }) => !isQuoted || /^[\p{L}\p{N} _.,:/@%+=-]*$/u.test(word))
      .map(({ word, description = '' }) => {
        if (shell === 'zsh') return `${word.replaceAll(/[\\:]/g, '\\$&')}:${description}\n`;
        if (shell === 'fish') return `${word}\t${description}\n`;
        const rest = word.slice(
          last.length - (typed === '=' || typed === ':' ? 0 : unquoted(typed).length),
        );
        return `${/^["']/.test(typed) ? rest : rest.replaceAll(/[^\p{L}\p{N}_\-./=:,@%+]/gu, '\\$&')}\n`;
      })
      // A name that looks like the word for files would be taken for it.
      .filter((line) => line !== ':file\n')
      .join('')
  );
}

function joined(parts: readonly string[]): string[] {
  const words: string[] = [];
  let isOpen = false;
  for (const part of parts) {
    const isCut = /^[=:]+$/.test(part);
    if (words.length > 1 && (isCut || isOpen)) words.push((words.pop() ?? '') + part);
    else words.push(part);
    isOpen = isCut;
  }
  return words;
}

function unquoted(word: string): string {
  return word.replaceAll(/\\(.)|["']/g, '$1');
}

/** What the command line says before the cursor. */
interface Place {
  command: Command;
  arguments: string[];
  values: Map<Option, string>;
  /** The option whose value stands at the cursor. */
  open: Option | undefined;
}

function placeOf(program: Command, words: readonly string[]): Place {
  const place: Place = { command: program, arguments: [], values: new Map(), open: undefined };
  for (const word of words) {
    const [name = '', ...value] = word.split('=');
    const option = optionsOf(place.command).find(
      ({ short, long }) => name === short || name === long,
    );
    const sub = place.command.commands.find((command) => command.name() === word);
    if (place.open !== undefined) {
      place.values.set(place.open, word);
      place.open = undefined;
    } else if (option !== undefined && value.length > 0) place.values.set(option, value.join('='));
    else if (option !== undefined && takesValue(option)) place.open = option;
    else if (sub !== undefined) place.command = sub;
    else if (!/^-./.test(word)) place.arguments.push(word);
  }
  return place;
}

function optionsOf(command: Command): Option[] {
  const help = command.createHelp();
  return [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
}

function takesValue({ required, optional }: Option): boolean {
  return required || optional;
}

async function offersFor(words: readonly string[], io: Io): Promise<Offer[]> {
  const program = buildProgram(io, false, async () => {});
  const last = words.at(-1) ?? '';
  const place = placeOf(program, words.slice(0, -1));
  const { command, open } = place;
  if (open !== undefined) return await valuesOf(open, last, place, io);
  const [, name, value = ''] = /^(--[^=]+)=(.*)$/s.exec(last) ?? [];
  if (name !== undefined) {
    const option = optionsOf(command).find(({ long }) => long === name);
    const values = option && takesValue(option) ? await valuesOf(option, value, place, io) : [];
    return values === FILES ? FILES : values.map(({ word }) => ({ word: `${name}=${word}` }));
  }
  if (last.startsWith('-')) {
    return optionsOf(command).flatMap(({ short, long, description }) =>
      [short, long].flatMap((word) => (word ? described(word, description) : [])),
    );
  }
  const subcommands = command.createHelp().visibleCommands(command);
  if (subcommands.length > 0) {
    return subcommands.map((sub) => described(sub.name(), sub.description()));
  }
  const all = command.registeredArguments;
  const argument = all[place.arguments.length] ?? all.findLast(({ variadic }) => variadic);
  if (argument?.argChoices !== undefined) return wordsOf(argument.argChoices);
  return argument?.name() === 'file' ? FILES : [];
}

function described(word: string, description: string): Offer {
  return { word, description: firstSentence(description) };
}

function wordsOf(words: readonly string[]): Offer[] {
  return words.map((word) => ({ word }));
}

async function valuesOf(option: Option, typed: string, place: Place, io: Io): Promise<Offer[]> {
  if (option.argChoices !== undefined) return wordsOf(option.argChoices);
  switch (option.long) {
    case '--profile': {
      const { config } = await readConfig(configPath(io), io.platform);
      return wordsOf(Object.keys(config.profiles));
    }
    case '--sheet':
      return wordsOf(await sheetsOf(place, io));
    case '--map': {
      const fields = place.command.name() === 'verify' ? TABLE_FIELDS : LINK_FIELDS;
      const [, field] = /^([^=]*)=/.exec(typed) ?? [];
      if (field === undefined) return wordsOf(fields.map((name) => `${name}=`));
      return wordsOf((await columnsOf(place, io)).map((column) => `${field}=${column}`));
    }
    default:
      return /<file>/.test(option.flags) ? FILES : [];
  }
}

/** Nobody waits longer for Tab than it takes to read such a workbook. */
const MAX_WORKBOOK_BYTES = 16 * 1024 * 1024;

/** The first file on the line that is there. A pipe would be emptied. */
async function fileOf({ arguments: files }: Place, { home }: Io): Promise<string | undefined> {
  for (const name of files) {
    const path = name.startsWith('~/') ? join(home, name.slice(2)) : name;
    const stats = await stat(path).catch(() => undefined);
    if (!stats?.isFile()) continue;
    return /\.xlsx$/i.test(name) && stats.size > MAX_WORKBOOK_BYTES ? undefined : path;
  }
  return undefined;
}

async function sheetsOf(place: Place, io: Io): Promise<string[]> {
  const path = await fileOf(place, io);
  if (path === undefined) return [];
  const { default: readWorkbook } = await import('read-excel-file/node');
  return (await readWorkbook(path)).map(({ sheet }) => sheet);
}

async function columnsOf(place: Place, io: Io): Promise<readonly string[]> {
  const path = await fileOf(place, io);
  if (path === undefined) return [];
  const { openInput } = await import('../../import/read/open-input.ts');
  const { detectLayout } = await import('../../import/read/layout.ts');
  const given = [...place.values].map(([option, value]) => {
    return [option.attributeName(), option.parseArg?.(value, undefined) ?? value] as const;
  });
  const input = await openInput(path, io.stdin);
  try {
    // No column need be recognized: which one it is, is being typed.
    const map = { target_url: '1', title: '', tags: '', domain_id: '', redirect_type: '' };
    const settings = { inputFormat: 'auto' as const, ...Object.fromEntries(given), map };
    return (await detectLayout(input, settings)).plan.columns;
  } finally {
    await input.dispose();
  }
}
