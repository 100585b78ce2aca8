/** Exit codes of `shortlink-server`. */
export const EXIT = {
  ok: 0,
  /** The command was understood and could not be done: not found, taken, over the plan's limit, address in use. */
  failed: 1,
  /** A wrong command line or setting. */
  usage: 2,
} as const;

/** A command that could not be done; its message is for the operator. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}
