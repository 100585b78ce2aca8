/** Stands in for `node:process` in the journal, which takes its database driver from there. */
import { SimulatedDatabase } from '../world/database.ts';

export default {
  emitWarning() {},
  getBuiltinModule: () => ({ DatabaseSync: SimulatedDatabase }),
};
