/**
 * The short-link protocol as a program: says of any service, statement by statement, what holds. Runs wherever there is `fetch`.
 *
 * @packageDocumentation
 */

export { htmlReport } from './reports/html.ts';
export { junitReport } from './reports/junit.ts';
export { textReport } from './reports/text.ts';
export {
  CannotRunError,
  type ConformanceOptions,
  type ConformanceReport,
  PROTOCOL_VERSION,
  runConformance,
  type StatementVerdict,
  statements,
} from './run.ts';
export type { PlanName, SessionOptions } from './session.ts';
export type { Exchange, Statement, Verdict } from './statement.ts';
