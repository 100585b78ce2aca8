import wasm from '@shortlink/server/browser/sqlite3.wasm';
import type { ContractGroup } from '../../../server/src/store/contract.test-suite.ts';
import { runContract } from './run-contract.ts';

export default {
  fetch: async ({ url }: Request) => {
    const groups = new URL(url).searchParams.getAll('group') as ContractGroup[];
    return Response.json(await runContract(wasm, groups.length > 0 ? groups : undefined));
  },
};
