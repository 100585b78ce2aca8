import type { ConformanceReport, StatementVerdict } from '../run.ts';
import type { Exchange } from '../statement.ts';
import { countsOf } from './text.ts';

/** Text in HTML and XML. Characters that XML can't hold are left out. */
export function escapeMarkup(text: string): string {
  return text
    .replaceAll(/[^\P{Cc}\t\n\r]|[\ufffe\uffff]/gu, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
details { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: .4rem 0; }
summary { cursor: pointer; }
summary b { display: inline-block; min-width: 5.5rem; }
.holds b { color: light-dark(#176b2c, #6fd388); } .fails b { color: light-dark(#b3131b, #ff8a80); }
.not-shown b { color: light-dark(#5b5b5b, #b0b0b0); }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; margin: .5rem 0 .5rem 1rem; }
`;

/** A report as one page without scripts: each statement with the exchanges that show it. */
export function htmlReport(report: ConformanceReport): string {
  const counts = countsOf(report);
  const headings = new Map<string, StatementVerdict[]>();
  for (const verdict of report.verdicts) {
    const heading = verdict.isAddition ? `Additions: ${verdict.section}` : verdict.section;
    headings.set(heading, [...(headings.get(heading) ?? []), verdict]);
  }
  const sections = [...headings].map(
    ([heading, verdicts]) =>
      `<h2>${escapeMarkup(heading)}</h2>\n${verdicts.map(statementDetails).join('\n')}`,
  );
  const title = `Protocol ${report.protocolVersion} at ${escapeMarkup(report.baseUrl)}`;
  const cost = `${report.requestsSent} requests were sent and ${report.linksCreated} links created.`;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${STYLE}</style></head>
<body><main>
<h1>${title}</h1>
<p>Of the statements of the protocol ${counts.holds} hold, ${counts.fails} fail and ${counts['not shown']} could not be shown. ${cost}</p>
${sections.join('\n')}
</main></body>
</html>
`;
}

function statementDetails(verdict: StatementVerdict): string {
  const reason = verdict.result === 'holds' ? '' : `<p>${escapeMarkup(verdict.reason)}</p>`;
  const exchanges = verdict.exchanges.map(exchangeBlock).join('');
  const isOpen = verdict.result === 'fails' ? ' open' : '';
  const mark = `<b>${verdict.result}</b>`;
  return `<details class="${verdict.result.replace(' ', '-')}"${isOpen}><summary>${mark} ${escapeMarkup(verdict.text)} <code>${verdict.id}</code></summary>${reason}${exchanges}</details>`;
}

const BODY_LIMIT = 2_000;

function exchangeBlock({ request, response }: Exchange): string {
  const headers = (of: Record<string, string>) =>
    Object.entries(of).map(([name, value]) => `${name}: ${value}`);
  const body = (text: string) =>
    text.length > BODY_LIMIT ? `${text.slice(0, BODY_LIMIT)}... (${text.length} characters)` : text;
  const lines = [
    `${request.method} ${request.path}`,
    ...headers(request.headers),
    ...(request.body === '' ? [] : ['', body(request.body)]),
    '',
    `${response.status}`,
    ...headers(response.headers),
    '',
    body(response.body),
  ];
  return `<pre>${escapeMarkup(lines.join('\n'))}</pre>`;
}
