/** What the CommonJS builds of this folder load from the ES modules. */
export { openSqliteStore } from '../store/sqlite/index.ts';
export { FaultScript } from './faults.ts';
export { startTestServer } from './start-test-server.ts';
export { startTestService } from './test-service.ts';
