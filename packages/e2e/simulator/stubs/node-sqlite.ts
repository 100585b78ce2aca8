/** Stands in for `node:sqlite` in the journal. */
export { SimulatedDatabase as DatabaseSync } from '../world/database.ts';
