import { statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { LINK_FIELDS } from '@shortlink/tables/basics';
import type { Command, Option } from 'commander';
import { configPath, readConfig } from '../../config/config-file.ts';
import type { Io } from '../../io.ts';
import { buildProgram } from '../../program.ts';
import { firstSentence } from '../help.ts';
import { TABLE_FIELDS } from '../verify/verify.ts';

type Offer = readonly [word: string, description?: string];
type Offers = readonly Offer[] | undefined;

/** Words of a line of bash, and what of a word bash replaces: it cuts it at = and : that are not quoted. */
const BASH_WORD = /\s+((?:"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|\\.|[^\s"'\\])*)/gs;
const BASH_TAIL = /(?:"(?:[^"\\]|\\.)*(?:"|$)|'[^']*(?:'|$)|\\.|[^=:"'\\])*$/s;

/**
 * What `shortlink __complete <shell> <words>` prints: a line for each word that may stand at the cursor. bash gives its line up to the cursor
 * in place of the words. Undefined for the name of a file, which shells complete themselves.
 */
export async function complete([shell, ...given]: readonly string[], io: Io) {
  const inBash = Array.from((given[0] ?? '').matchAll(BASH_WORD), ([, word = '']) => word);
  const words = shell === 'bash' ? inBash.map(unquoted) : given;
  const all = await offersFor(words.slice(0, -1), words.at(-1) ?? '', io);
  // What a file holds must not move the cursor, nor hide.
  const offers = all?.filter(([word]) => !/[\p{Cc}\p{Cf}]/u.test(word));
  const escaped = (word: string) => `${word.replaceAll(/[\\:]/g, '\\$&')}:`;
  const lines =
    shell === 'bash'
      ? offers && forBash(offers, inBash.at(-1) ?? '')
      : offers?.map(([word, text = '']) => (shell === 'zsh' ? escaped(word) : `${word}\t`) + text);
  return lines?.map((line) => `${line}\n`).join('');
}

function forBash(offers: readonly Offer[], typed: string): string[] {
  const [tail = ''] = BASH_TAIL.exec(typed) ?? [];
  const known = unquoted(typed).length - unquoted(tail).length;
  // Between quotes only harmless characters are offered: the quote decides which ones are code.
  const isQuoted = /["']/.test(tail.replaceAll(/\\./g, ''));
  return offers.flatMap(([word]) => {
    const isHarmless = !isQuoted || /^[\p{L}\p{N} _.,:/@%+=-]*$/u.test(word);
    if (!isHarmless || !word.startsWith(unquoted(typed))) return [];
    const rest = word.slice(known);
    return /^["']/.test(tail) ? rest : rest.replaceAll(/[^\p{L}\p{N}_\-./=:,@%+]/gu, '\\$&');
  });
}

function unquoted(word: string): string {
  return word.replaceAll(/\\(.)|["']/g, '$1');
}

/** commander parses the words, and throws where they are wrong. */
async function offersFor(words: readonly string[], typed: string, io: Io): Promise<Offers> {
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
    return values?.map((word) => [name === undefined ? word : `${name}=${word}`]);
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
  return argument?.name() === 'file' ? undefined : (argument?.argChoices ?? []).map((w) => [w]);
}

async function valuesOf(option: Option, typed: string, command: Command, files: string[], io: Io) {
  const { long, flags, argChoices } = option;
  if (argChoices !== undefined) return argChoices;
  if (long === '--profile') {
    return Object.keys((await readConfig(configPath(io), io.platform)).config.profiles);
  }
  if (long !== '--sheet' && long !== '--map') return /<file>/.test(flags) ? undefined : [];
  const [, field] = /^([^=]*)=/.exec(typed) ?? [];
  if (long === '--map' && field === undefined) {
    const fields = command.name() === 'verify' ? TABLE_FIELDS : LINK_FIELDS;
    return fields.map((name) => `${name}=`);
  }
  // A pipe would be emptied.
  const path = files
    .map((file) => file.replace(/^~(?=\/)/, () => io.home))
    .find((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
  if (path === undefined) return [];
  const { openInput, sheetNames } = await import('@shortlink/tables');
  if (long === '--sheet') return await sheetNames(path);
  // Nobody waits for Tab as long as a large workbook takes.
  if (/\.xlsx$/i.test(path) && statSync(path).size > 2 ** 24) return [];
  const { detectLayout } = await import('../../import/layout.ts');
  const input = await openInput(path, Readable.from([]));
  try {
    // Which column it is, is being typed.
    const map = { target_url: '1', title: '', tags: '', domain_id: '', redirect_type: '' };
    const settings = { inputFormat: 'auto' as const, ...command.opts(), map };
    const { plan } = await detectLayout(input, settings);
    return plan.columns.map((column) => `${field}=${column}`);
  } finally {
    await input.dispose();
  }
}
