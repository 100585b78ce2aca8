import type { Account, Context } from '../../context.ts';

/** What a key was found to be. A key that works but may not read usage is valid too. */
export type KeyCheck = 'valid' | 'refused';

/**
 * Asks the server whether it knows the key, without changing anything there: usage first, which costs no quota; where
 * the service has no such endpoint, a poll of a job that can't exist, which is 404 for a valid key and 401 otherwise.
 *
 * @throws the client's errors when the server can't be asked
 */
export async function checkKey(
  account: Account,
  context: Context,
  signal: AbortSignal,
): Promise<KeyCheck> {
  const [shortlink, { AuthenticationError, NotFoundError, PermissionError }] = await Promise.all([
    context.client(account),
    import('@shortlink/sdk'),
  ]);
  const ask = async (request: Promise<unknown>): Promise<KeyCheck | 'no such thing'> => {
    try {
      await request;
      return 'valid';
    } catch (error) {
      if (AuthenticationError.isInstance(error)) {
        return 'refused';
      }
      if (PermissionError.isInstance(error)) {
        return 'valid';
      }
      if (NotFoundError.isInstance(error)) {
        return 'no such thing';
      }
      throw error;
    }
  };
  const byUsage = await ask(shortlink.usage.retrieve({ signal }));
  if (byUsage !== 'no such thing') {
    return byUsage;
  }
  const byJob = await ask(shortlink.jobs.retrieve(crypto.randomUUID(), { signal }));
  return byJob === 'no such thing' ? 'valid' : byJob;
}
