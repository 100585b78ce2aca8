/**
 * Sends a request until the response is not 503, with which a server on a busy machine says that it has done nothing.
 *
 * @param send - Sends it once.
 */
export async function decided<T extends { status: number }>(send: () => Promise<T>): Promise<T> {
  const answer = await send();
  return answer.status === 503 ? decided(send) : answer;
}
