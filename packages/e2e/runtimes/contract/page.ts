import { runContract } from './run-contract.ts';

// Where the test looks for it.
Object.assign(globalThis, { contract: runContract() });
