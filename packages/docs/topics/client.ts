/**
 * The client: `new Shortlink(options)`, and what its calls return.
 *
 * @module sdk/client
 */
export { type ApiResponse, type ResponsePromise, Shortlink } from '../../sdk/src/index.ts';
