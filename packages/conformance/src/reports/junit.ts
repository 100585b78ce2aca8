import type { ConformanceReport, StatementVerdict } from '../run.ts';
import { escapeMarkup } from './html.ts';
import { exchangeLines } from './text.ts';

/** A report in JUnit's XML, which CI systems show. What was expected to fail and additions that differ count as skipped. */
export function junitReport(report: ConformanceReport): string {
  const suite = (name: string, verdicts: StatementVerdict[], failures: number) => {
    const skipped = verdicts.filter((verdict) => verdict.result !== 'holds').length - failures;
    const head = `<testsuite name="${name}" tests="${verdicts.length}" failures="${failures}" skipped="${skipped}">`;
    return [`  ${head}`, ...verdicts.map(testCase), '  </testsuite>'];
  };
  const core = report.verdicts.filter(({ isAddition }) => !isAddition);
  const failing = core.filter(({ result, isExpected }) => result === 'fails' && !isExpected);
  const additions = report.verdicts.filter(({ isAddition }) => isAddition);
  const lines = [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="protocol ${report.protocolVersion}">`,
    ...suite('protocol', core, failing.length),
    ...(additions.length === 0 ? [] : suite('additions', additions, 0)),
    ...(report.stale.length === 0 ? [] : staleSuite(report.stale)),
    '</testsuites>',
  ];
  return `${lines.join('\n')}\n`;
}

function testCase(verdict: StatementVerdict): string {
  const name = escapeMarkup(`${verdict.id}: ${verdict.text}`);
  const open = `    <testcase classname="${escapeMarkup(verdict.section)}" name="${name}"`;
  if (verdict.result === 'holds') return `${open}/>`;
  const reason = escapeMarkup(verdict.reason);
  const isFailure = verdict.result === 'fails' && !verdict.isExpected && !verdict.isAddition;
  if (!isFailure) return `${open}><skipped message="${reason}"/></testcase>`;
  const shown = escapeMarkup(verdict.exchanges.flatMap(exchangeLines).join('\n'));
  return `${open}><failure message="${reason}">${shown}</failure></testcase>`;
}

function staleSuite(stale: readonly string[]): string[] {
  const cases = stale.map(
    (id) =>
      `    <testcase name="${escapeMarkup(id)}"><failure message="is expected to fail, but holds or doesn't exist"/></testcase>`,
  );
  return [
    `  <testsuite name="expected" tests="${stale.length}" failures="${stale.length}">`,
    ...cases,
    '  </testsuite>',
  ];
}
