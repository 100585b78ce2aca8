import { BULK, CHECK, JOURNAL, MAP, type Mutant, mutant, SEND } from './mutant.ts';

/**
 * What goes wrong only where rows lead to several domains, the lines of a file are of several kinds, or the service, its rules, the
 * journal or the form of the file are others in a later run.
 */
export const CHANGES: readonly Mutant[] = [
  mutant(
    'rows of several domains taken for one',
    `${MAP}/link-identity.ts`,
    'return { target_url, domain_id };',
    'return { target_url, domain_id: domain_id && undefined };',
  ),
  mutant(
    'result given to the link of another domain',
    `${BULK}/results.ts`,
    'if (!areAlike) return [];',
    'if (!areAlike && positions.length === 0) return [];',
  ),
  mutant(
    'refused links sent again with the others',
    `${SEND}/settle-open.ts`,
    'known.has(firstLink + index) ? link : REFUSED',
    'known.has(firstLink + index) ? link : link',
  ),
  mutant(
    'refusals not recorded before the next request',
    `${SEND}/batch-recorder.ts`,
    'journal.decide(batch, { results: resultsOf(event.results, NO_RESPONSE), ids, isFinal: false });',
    '',
  ),
  mutant(
    'wait for a rate limit longer than the life of a key',
    `${SEND}/settle-open.ts`,
    'ended.abort(), KEY_LIFETIME_MS - age',
    'ended.abort(), KEY_LIFETIME_MS * 24 - age',
  ),
  mutant(
    'remark about a link taken for its refusal',
    `${SEND}/batch-recorder.ts`,
    'if (code && short_url) return',
    'if (!error && code && short_url) return',
  ),
  mutant(
    'codes of a job forgotten with its request',
    `${JOURNAL}/batches.ts`,
    'Object.assign(batch, { isOpen: false, unanswered: 0, doubtedBy: undefined });',
    'Object.assign(batch, { isOpen: false, unanswered: 0, size: 0, created: 0 });',
  ),
  mutant(
    'one key for all batches',
    `${SEND}/batch-recorder.ts`,
    'const known = this.#keys.get(first) ?? randomUUID();\n    this.#keys.set(first, known);',
    'const known = this.#keys.get(0) ?? randomUUID();\n    this.#keys.set(0, known);',
  ),
  mutant(
    'known links taken by their target URL alone',
    `${CHECK}/evidence-sql.ts`,
    `SELECT min(id), source, 0, \${FREE}`,
    `SELECT min(id), source, 0, \${FREE.replaceAll(AS_ROW, '0')}`,
  ),
  mutant(
    'links of the known file created again',
    `${CHECK}/read-links.ts`,
    '        evidence.addLink(source,',
    '        if ((claim.own?.code.length ?? 9) > 2) evidence.addLink(source,',
  ),
  mutant(
    'row that its file calls unknown sent again',
    `${MAP}/result-columns.ts`,
    "if (status === 'unknown') return { ...claim,",
    "if (status === 'in doubt') return { ...claim,",
  ),
  mutant(
    'line read by the keys of another line',
    `${MAP}/map-keys.ts`,
    'let meaning = known.get(name);',
    'let [meaning] = known.values();',
  ),
  mutant(
    'short link of another service taken for our own',
    `${MAP}/result-columns.ts`,
    'if (object !== undefined && !isResult(object)) {',
    'if (object === undefined && !isResult({})) {',
  ),
  mutant(
    'cell with a delimiter not quoted',
    'tables/src/csv-cell.ts',
    'text.includes(delimiter) || NEEDS_QUOTES',
    'NEEDS_QUOTES',
  ),
];
