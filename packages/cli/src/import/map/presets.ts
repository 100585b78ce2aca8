import { inputError } from '../errors.ts';
import type { LinkField } from '../types.ts';
import { columnKey, listColumns, nearest } from './column-names.ts';

/** The columns of one export of another service. Names are keys of `columnKey`. */
export interface PresetForm {
  /** The service, as `--from` takes it. */
  preset: string;
  /** Columns that tell this export from others. */
  requires: readonly string[];
  /** Which column fills which field; those that are missing fill nothing. */
  fields: Readonly<Partial<Record<LinkField, string>>> & { target_url: string };
  /** What stands between tags, where it is not one of the usual separators alone. */
  tagSeparator?: string;
}

/**
 * Most particular first, since the first form that fits is taken. Dub's and Shlink's are known from their source code,
 * the others from their exports.
 */
const FORMS: readonly PresetForm[] = [
  {
    preset: 'dub',
    requires: ['shortlink', 'destinationurl', 'clicks', 'createdat'],
    fields: { target_url: 'destinationurl', title: 'title', tags: 'tags' },
  },
  {
    preset: 'shlink',
    requires: ['shortcode', 'shorturl', 'longurl', 'visits'],
    fields: { target_url: 'longurl', title: 'title', tags: 'tags' },
    tagSeparator: '|',
  },
  {
    preset: 'shlink',
    requires: ['longurl', 'shortcode'],
    fields: { target_url: 'longurl', title: 'title', tags: 'tags' },
    tagSeparator: '|',
  },
  { preset: 'yourls', requires: ['source', 'target', 'hits'], fields: { target_url: 'target' } },
  {
    preset: 'yourls',
    requires: ['keyword', 'url', 'timestamp', 'ip', 'clicks'],
    fields: { target_url: 'url', title: 'title' },
  },
  {
    preset: 'short.io',
    requires: ['idstring', 'shorturl', 'originalurl'],
    fields: { target_url: 'originalurl', title: 'title', tags: 'tags' },
  },
  {
    preset: 'rebrandly',
    requires: ['slashtag', 'destination'],
    fields: { target_url: 'destination', title: 'title', tags: 'tags' },
  },
  {
    preset: 'bitly',
    requires: ['link', 'destinationurl', 'engagements'],
    fields: { target_url: 'destinationurl', title: 'title', tags: 'tags' },
  },
  {
    preset: 'bitly',
    requires: ['bitlink', 'longurl'],
    fields: { target_url: 'longurl', title: 'title', tags: 'tags' },
  },
  {
    preset: 'bitly',
    requires: ['link', 'longurl', 'createdat'],
    fields: { target_url: 'longurl', title: 'title', tags: 'tags' },
  },
];

/** Names that `--from` takes. */
export const PRESETS: readonly string[] = [...new Set(FORMS.map((form) => form.preset))].sort();

/** The export that a header belongs to; undefined when it is none that is known. */
export function recognisePreset(columns: readonly string[]): PresetForm | undefined {
  const keys = new Set(columns.map(columnKey));
  return FORMS.find((form) => form.requires.every((key) => keys.has(key)));
}

/**
 * The form of `--from name` that fits the header best: all of its columns, else at least the target URL's.
 *
 * @throws CliError (exit code 2) for an unknown name, or a file that is no such export
 */
export function namedPreset(name: string, columns: readonly string[]): PresetForm {
  const forms = FORMS.filter((form) => columnKey(form.preset) === columnKey(name));
  if (forms.length === 0) {
    const meant = nearest(name, PRESETS);
    throw inputError(
      `--from ${name}: no such preset`,
      `${meant === undefined ? '' : `Did you mean ${meant}? `}There are: ${PRESETS.join(', ')}`,
    );
  }
  const keys = new Set(columns.map(columnKey));
  const form =
    forms.find(({ requires }) => requires.every((key) => keys.has(key))) ??
    forms.find(({ fields }) => keys.has(fields.target_url));
  if (form === undefined) {
    throw inputError(
      `--from ${name}: the file has none of the columns of such an export`,
      `Its columns are ${listColumns(columns)}. Say which one holds the URL: --map target_url=NAME`,
    );
  }
  return form;
}
