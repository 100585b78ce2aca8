import { type Mutant, one } from './mutant.ts';

const IMPORTS = 'store/writes/imports.ts';
const OPERATORS = 'store/writes/operators.ts';

/** Planted bugs of corrections, and of links that move in. */
export const operatorMutants: Readonly<Record<string, Mutant>> = {
  'correction-unconditional': one(
    'A correction replaces another one that it does not know.',
    OPERATORS,
    'return target_url === (correction.ifTarget ?? target_url)',
    'return correction.ifTarget !== correction.code',
  ),
  'history-turned-round': one(
    'The history of a link tells that it led before where it leads now.',
    OPERATORS,
    'old_target: row.target_url',
    'old_target: new_target',
  ),
  'correction-not-seen': one(
    'Other processes go on with a link as it was before it was corrected.',
    'store/sqlite/migrate.ts',
    'UPDATE OF code, target_url, redirect_type',
    'UPDATE OF code, redirect_type',
  ),
  'moved-links-not-counted': one(
    'Links that move in are not in the total of their account.',
    IMPORTS,
    'UPDATE link_totals SET used = used +',
    'UPDATE link_totals SET used = used + 0 *',
  ),
  'one-alias-each': one(
    'Of several old addresses of a link, one is kept.',
    IMPORTS,
    'plan.aliases.push(...missing.map(',
    'plan.aliases.push(...missing.slice(0, 1).map(',
  ),
  'moved-again': one(
    'The same import once more creates the links that bring no code again.',
    IMPORTS,
    'for (const { domain_id, path, ...link } of byAlias)',
    'for (const { domain_id, path, ...link } of byAlias.slice(1))',
  ),
  'unknown-address-remembered': one(
    'An address that led nowhere once leads nowhere for a long time.',
    'store/redirect-cache.ts',
    'UNKNOWN_CODE_MAX_AGE_MS = 250;',
    'UNKNOWN_CODE_MAX_AGE_MS = 86_400_000;',
  ),
  'list-with-links-of-others': one(
    'A list has links of every account.',
    'store/queries/links.ts',
    'SELECT code FROM link_details WHERE account_id = ',
    "SELECT code FROM link_details WHERE '' <> ",
  ),
  'alias-lost-at-the-end-of-a-page': one(
    'An export leaves out the other addresses of the last link of each page.',
    'store/queries/links.ts',
    'const codes = rows.map',
    'const codes = rows.slice(0, -1).map',
  ),
  'usage-of-revoked-keys': one(
    'The usage names keys that were revoked.',
    'store/queries/usage.ts',
    'AND revoked_at IS NULL AND (expires_at IS NULL',
    'AND (expires_at IS NULL',
  ),
};
