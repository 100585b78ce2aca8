/** What is wrong with an export, or with what is to become of it; for the operator. */
export class MoveError extends Error {
  override readonly name = 'MoveError';
}
