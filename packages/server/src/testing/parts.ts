/** What the CommonJS builds of this folder load from the ES modules. */
export { listen } from '../serve.ts';
export { openSqliteStore } from '../store/sqlite/index.ts';
export { FaultScript } from './faults.ts';
export { startTestService } from './test-service.ts';
