/**
 * A real Shortlink server for tests: on a free port, in memory, with scripted faults.
 *
 * @packageDocumentation
 */

export { type Fault, type FaultRule, FaultScript } from './faults.ts';
export { startTestServer, type TestServer, type TestServerOptions } from './start-test-server.ts';
export type { TestServiceOptions, TestSubject } from './test-service.ts';
