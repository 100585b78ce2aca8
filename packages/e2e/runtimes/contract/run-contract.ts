import { openDatabase, type Wasm } from '../../../server/src/browser/sqlite.ts';
import { PUBLIC_URL } from '../../../server/src/store/contract/fixtures.test-suite.ts';
import {
  type ContractGroup,
  testStoreContract,
} from '../../../server/src/store/contract.test-suite.ts';
import { inlineStore } from '../../../server/src/store/sqlite/sqlite-store.ts';
import { runTests } from './vitest.ts';

/**
 * Runs what every engine of the server's store passes against SQLite as WebAssembly.
 *
 * @param groups - The groups of tests. @default all
 */
export function runContract(wasm?: Wasm, groups?: ContractGroup[]) {
  const open = async () => {
    const { db } = await openDatabase(Date.now(), undefined, wasm);
    return inlineStore(db, PUBLIC_URL);
  };
  testStoreContract('SQLite as WebAssembly', open, groups);
  return runTests();
}
