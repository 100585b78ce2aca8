/**
 * The error that a call of the client rejects with.
 *
 * @throws Error when it resolves, or rejects with anything but this class
 */
export async function rejection<E extends Error>(
  call: Promise<unknown>,
  expected: abstract new (...args: never[]) => E,
): Promise<E> {
  const error = await rejectionReason(call);
  if (error instanceof expected) return error;
  throw new Error(`rejected with another error than ${expected.name}: ${String(error)}`, {
    cause: error,
  });
}

/** The reason that a call rejects with, of any class. */
export async function rejectionReason(call: Promise<unknown>): Promise<unknown> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => ({ error }),
  );
  if (outcome === undefined) throw new Error('resolved, but must reject');
  return outcome.error;
}
