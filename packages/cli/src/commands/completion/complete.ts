import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { LINK_FIELDS } from '@shortlink/tables/basics';
import type { Command, Option } from 'commander';
import { configPath, readConfig } from '../../config/config-file.ts';
import type { Io } from '../../io.ts';
import { buildProgram } from '../../program.ts';
import { firstSentence } from '../help.ts';
import { TABLE_FIELDS } from '../verify/verify.ts';

/** A word that may stand at the cursor. */
type Offer = readonly [word: string, description?: string];

/** The shell's own completion of files: its script knows this word. */
const FILES: Offer[] = [[':file']];

/**
 * What `shortlink __complete <shell> <words>` prints: a line for each word that may stand at the cursor, as the script of the shell
 * wants it. bash gives the index of the word at the cursor first, cuts its words at = and :, and leaves quotes where they are.
 */
export async function complete([shell, ...rest]: readonly string[], io: Io): Promise<string> {
  const [index, , ...parts] = rest;
  const cut = shell === 'bash' ? parts.slice(0, Number(index)) : [];
  const words = shell === 'bash' ? joined(cut) : rest;
  const last = words.at(-1) ?? '';
  const offers = await offersFor(words.slice(0, -1), last, io);
  if (offers === FILES) return ':file\n';
  const typed = cut.at(-1) ?? '';
  const known = last.length - (/^[=:]$/.test(typed) ? 0 : unquoted(typed).length);
  // Which characters are code between quotes depends on the quote, so that only harmless ones are offered there.
  const isQuoted = /["']/.test(typed.replaceAll(/\\./g, ''));
  return (
    offers
      .filter(([word]) => shell !== 'bash' || word.startsWith(last))
      // What a file holds must not move the cursor, nor hide.
      .filter(([word]) => !/[\p{Cc}\p{Cf}]/u.test(word))
      .filter(([word]) => !isQuoted || /^[\p{L}\p{N} _.,:/@%+=-]*$/u.test(word))
      .map(([word, description = '']) => {
        if (shell === 'zsh') return `${word.replaceAll(/[\\:]/g, '\\$&')}:${description}\n`;
        if (shell === 'fish') return `${word}\t${description}\n`;
        const rest = word.slice(known);
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
    if (isCut || isOpen) words.push((words.pop() ?? '') + unquoted(part));
    else words.push(unquoted(part));
    isOpen = isCut;
  }
  return words;
}

function unquoted(word: string): string {
  return word.replaceAll(/\\(.)|["']/g, '$1');
}

/** What may stand behind `words` where `typed` is being typed. commander parses the words, and throws where they are wrong. */
async function offersFor(words: readonly string[], typed: string, io: Io): Promise<Offer[]> {
  const [, name, value = typed] = /^(--[^=]+)=(.*)$/s.exec(typed) ?? [];
  const flag = name ?? words.at(-1) ?? '';
  const before = name === undefined && flag.startsWith('-') ? words.slice(0, -1) : words;
  let command = buildProgram(io, false, async () => {}).configureOutput({ writeOut: () => {} });
  let files: string[] = [];
  for (let sub: Command | undefined = command, rest = [...before]; sub !== undefined; ) {
    command = sub;
    const { operands, unknown } = command.parseOptions(rest);
    sub = command.commands.find((one) => one.name() === operands[0]);
    files = operands;
    rest = [...operands.slice(1), ...unknown];
  }
  const help = command.createHelp();
  const options = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  const option = options.find(({ short, long }) => flag === long || flag === short);
  if (option?.required || option?.optional) {
    const values = await valuesOf(option, value, command, files, io);
    return name === undefined || values === FILES
      ? values
      : values.map(([word]) => [`${name}=${word}`]);
  }
  if (typed.startsWith('-')) {
    return options.flatMap(({ short, long, description }) =>
      [short, long].flatMap((word) => (word ? [[word, firstSentence(description)] as const] : [])),
    );
  }
  const subcommands = help.visibleCommands(command);
  if (subcommands.length > 0) {
    return subcommands.map((sub) => [sub.name(), firstSentence(sub.description())]);
  }
  const all = command.registeredArguments;
  const argument = all[files.length] ?? all.findLast(({ variadic }) => variadic);
  if (argument?.argChoices !== undefined) return argument.argChoices.map((word) => [word]);
  return argument?.name() === 'file' ? FILES : [];
}

async function valuesOf(
  { long, flags, argChoices }: Option,
  typed: string,
  command: Command,
  files: readonly string[],
  io: Io,
): Promise<Offer[]> {
  const wordsOf = (words: readonly string[]): Offer[] => words.map((word) => [word]);
  if (argChoices !== undefined) return wordsOf(argChoices);
  if (long === '--profile') {
    const { config } = await readConfig(configPath(io), io.platform);
    return wordsOf(Object.keys(config.profiles));
  }
  if (long === '--sheet') {
    const path = await fileOf(files, io);
    if (path === undefined) return [];
    const { sheetNames } = await import('./in-file.ts');
    return wordsOf(await sheetNames(path));
  }
  if (long !== '--map') return /<file>/.test(flags) ? FILES : [];
  const [, field] = /^([^=]*)=/.exec(typed) ?? [];
  if (field !== undefined) {
    const path = await fileOf(files, io);
    if (path === undefined) return [];
    const { columnsIn } = await import('./in-file.ts');
    const columns = await columnsIn(path, command.opts());
    return wordsOf(columns.map((column) => `${field}=${column}`));
  }
  const fields = command.name() === 'verify' ? TABLE_FIELDS : LINK_FIELDS;
  return wordsOf(fields.map((name) => `${name}=`));
}

/** Nobody waits longer for Tab than it takes to read such a workbook. */
const MAX_WORKBOOK_BYTES = 16 * 1024 * 1024;

/** The first file on the line that is there. A pipe would be emptied. */
async function fileOf(files: readonly string[], { home }: Io): Promise<string | undefined> {
  for (const name of files) {
    const path = name.startsWith('~/') ? join(home, name.slice(2)) : name;
    const stats = await stat(path).catch(() => undefined);
    if (!stats?.isFile()) continue;
    return /\.xlsx$/i.test(name) && stats.size > MAX_WORKBOOK_BYTES ? undefined : path;
  }
  return undefined;
}
