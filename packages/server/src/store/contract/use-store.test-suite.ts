import { afterEach, beforeEach } from 'vitest';
import type { Store } from '../store.ts';
import type { OpenStore } from './fixtures.test-suite.ts';

/** Registers the hooks that give every test of a group a store of its own; the result answers the current one. */
export type UseStore = () => () => Store;

export function storeHooks(open: OpenStore): UseStore {
  return () => {
    let store: Store | undefined;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(async () => {
      await store?.close();
    });
    return () => {
      if (store === undefined) throw new Error('The store is open within a test only.');
      return store;
    };
  };
}
