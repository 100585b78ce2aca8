import wasm from '@shortlink/server/browser/sqlite3.wasm';
import { runContract } from './run-contract.ts';

export default {
  fetch: async () => Response.json(await runContract(wasm)),
};
