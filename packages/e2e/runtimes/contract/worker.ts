// @ts-expect-error workerd gives the compiled module.

import { runContract } from './run-contract.ts';
import wasm from './sqlite3.wasm';

export default {
  fetch: async () => Response.json(await runContract(wasm)),
};
