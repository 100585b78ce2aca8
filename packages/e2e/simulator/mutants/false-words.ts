import { BULK, CHECK, type Mutant, mutant, REPORT, SEND } from './mutant.ts';

/** What the import says of its work. */
export const FALSE_WORDS: readonly Mutant[] = [
  mutant(
    'titles not sent',
    `${SEND}/link-source.ts`,
    'const link = this.#rules.link(this.#row);',
    'const { title: _, ...link } = this.#rules.link(this.#row);',
  ),
  mutant(
    'links of equal targets exchanged',
    `${BULK}/results.ts`,
    'if (isInStep && areInPlace) return results;',
    `if (isInStep && results.every(isInPlace)) {
    const left = results.toReversed();
    return targets.map((target_url) => {
      const index = left.findIndex((result) => result.target_url === target_url);
      return left.splice(index, 1)[0] as BatchResultItem;
    });
  }`,
  ),
  mutant(
    'results in another order',
    `${REPORT}/report-rows.ts`,
    'text += line(row, outcome);',
    'text = line(row, outcome) + text;',
  ),
  mutant(
    'short URL of another address',
    `${REPORT}/report-rows.ts`,
    '{cell(outcome.short_url)}',
    "{cell(outcome.short_url.replace('sho.rt', 'other.example'))}",
  ),
  mutant(
    'code of a row that has no link',
    `${REPORT}/report-rows.ts`,
    'const { code = null, short_url = null } = link ?? {};',
    "const { code = 'c0', short_url = null } = link ?? {};",
  ),
  mutant(
    'results without the reason',
    `${REPORT}/report-rows.ts`,
    "const error = outcome.status === 'created' ? null : outcome.error;",
    'const error = null;',
  ),
  {
    name: 'one link for two equal rows',
    patches: [
      {
        file: `${CHECK}/evidence-sql.ts`,
        find: `INSERT INTO temp.match SELECT number, id FROM (\n    SELECT number, \${columns}`,
        replace: `INSERT OR IGNORE INTO temp.match SELECT number, id FROM (\n    SELECT number, \${columns}`,
      },
      {
        file: `${CHECK}/evidence-sql.ts`,
        find: `) USING (\${columns}, n)`,
        replace: `) USING (\${columns})`,
      },
    ],
  },
  mutant(
    'rows of unknown outcome taken for existing ones',
    `${CHECK}/evidence-sql.ts`,
    'SELECT count(short_url) AS existing,',
    'SELECT count(*) AS existing,',
  ),
  mutant(
    'existing rows counted as created',
    `${SEND}/send-new-rows.ts`,
    'const created = found.created + sent;',
    'const created = have;',
  ),
  mutant(
    'a row that got an older link counted as created',
    `${CHECK}/evidence-sql.ts`,
    'OR was_open = 1) AS created',
    'OR was_open IS NOT NULL) AS created',
  ),
  mutant(
    'edited rows not counted',
    `${CHECK}/evidence-sql.ts`,
    'AND link.content <> row.content',
    'AND false',
  ),
  mutant(
    'rows of unknown outcome counted as edited',
    `${CHECK}/evidence-sql.ts`,
    'WHERE short_url IS NOT NULL AND link.content',
    'WHERE link.content',
  ),
  mutant(
    'links without a row not counted',
    `${CHECK}/read-evidence.ts`,
    "gone: Number(counts['gone']),",
    'gone: 0,',
  ),
  mutant(
    'requests of earlier runs counted',
    'cli/src/import/run-import.ts',
    'deps.requestCount() - requestsBefore',
    'deps.requestCount() + settings.concurrency - 1',
  ),
  mutant(
    'one link more than --limit',
    `${SEND}/link-source.ts`,
    'while (this.#first + this.#links.length < this.#send.links) {',
    'while (this.#first + this.#links.length <= this.#send.links) {',
  ),
  mutant(
    'rejected rows do not stop the run',
    'cli/src/import/run-import.ts',
    '  if (stopped !== undefined) {\n    announce(found, deps);\n    return { ...summary, stopped, lists: await listUnsent(known) };\n  }\n',
    '',
  ),
  mutant(
    'rejects with the line before',
    `${REPORT}/rejects.ts`,
    'String(row.line)',
    'String(row.line - 1)',
  ),
  mutant(
    'plan without room does not stop the run',
    `${REPORT}/summary.ts`,
    'if (forecast?.isShort && counts.unsent > 0) return stoppedByPlan(forecast.room ?? 0);',
    '',
  ),
  mutant(
    "forecast without the plan's room",
    'cli/src/import/check/forecast.ts',
    'Math.min(links, settings.limit ?? links, room ?? links)',
    'Math.min(links, settings.limit ?? links)',
  ),
  mutant(
    'exit code 0 although rows failed',
    'cli/src/cli-error.ts',
    'summary.rejected + summary.failed > 0',
    'summary.rejected > 0',
  ),
  mutant(
    'exit code of a stopped run by its rows',
    'cli/src/cli-error.ts',
    'if (summary.stopped !== undefined) return',
    "if (summary.stopped?.reason === 'rejects') return",
  ),
  mutant(
    'results copied into place',
    `${REPORT}/replacement.ts`,
    '    await rename(temporary, target);\n',
    '    await rm(target, { force: true });\n    await copyFile(temporary, target);\n',
  ),
];
