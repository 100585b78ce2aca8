import type { ConformanceReport, StatementVerdict } from '../run.ts';
import { type Exchange, escapeUnsafe } from '../statement.ts';

/** The counts of a report, as its last line says them. */
export function countsOf(report: ConformanceReport) {
  const counts = { holds: 0, fails: 0, 'not shown': 0, additionsFailing: 0 };
  for (const { result, isAddition } of report.verdicts) {
    if (!isAddition) counts[result] += 1;
    else if (result === 'fails') counts.additionsFailing += 1;
  }
  return counts;
}

/** A request and its response in two lines, as plain text. */
export function exchangeLines({ request, response }: Exchange): string[] {
  const { 'retry-after': wait } = response.headers;
  const header = wait === undefined ? '' : ` Retry-After: ${cut(wait)}`;
  return [
    `${request.method} ${cut(request.path)} ${cut(request.body)}`.trimEnd(),
    `${response.status}${header} ${cut(response.body)}`.trimEnd(),
  ];
}

/** One line of at most 200 characters, without control characters: it comes from a server that nobody vouches for. */
function cut(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ');
  return line.length > 200 ? `${line.slice(0, 197)}...` : line;
}

/** A report as JSON. */
export const jsonReport = (report: ConformanceReport) =>
  escapeUnsafe(JSON.stringify(report, null, 2));

const MARKS = { holds: '+', fails: 'x', 'not shown': '-' } as const;

/** A report for people: a line a statement, what shows a failure below it, and the counts. */
export function textReport(report: ConformanceReport): string {
  const lines: string[] = [];
  let heading = '';
  for (const verdict of report.verdicts) {
    const title = verdict.isAddition ? `Additions: ${verdict.section}` : verdict.section;
    if (title !== heading) lines.push('', title);
    heading = title;
    lines.push(...verdictLines(verdict));
  }
  lines.push('', ...report.stale.map(staleLine), summaryLine(report));
  return `${lines.slice(1).join('\n')}\n`;
}

function verdictLines(verdict: StatementVerdict): string[] {
  const line = `  ${MARKS[verdict.result]} ${verdict.text} [${verdict.id}]`;
  if (verdict.result === 'holds') return [line];
  const expected = verdict.result === 'fails' && verdict.isExpected ? ', as expected' : '';
  const lines = [line, `      ${verdict.result}${expected}: ${cut(verdict.reason)}`];
  if (verdict.result === 'not shown') return lines;
  const shown = verdict.exchanges.slice(-3).flatMap(exchangeLines);
  return [...lines, ...shown.map((text) => `      ${text}`)];
}

export const staleLine = (id: string) =>
  `"${cut(id)}" is expected to fail, but it holds or doesn't exist. Remove it from the list.`;

function summaryLine(report: ConformanceReport): string {
  const counts = countsOf(report);
  const core = `${counts.holds} hold, ${counts.fails} fail, ${counts['not shown']} not shown`;
  const additions = report.verdicts.filter(({ isAddition }) => isAddition);
  const holding = additions.filter(({ result }) => result === 'holds').length;
  const beyond =
    additions.length === 0
      ? ''
      : ` Of ${additions.length} additions ${holding} hold and ${counts.additionsFailing} differ.`;
  const cost = `${report.requestsSent} requests, ${report.linksCreated} links created`;
  return `Protocol ${report.protocolVersion} at ${report.baseUrl}: ${core}.${beyond} (${cost})`;
}
