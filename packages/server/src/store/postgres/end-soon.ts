/** How long to say goodbye, in milliseconds. */
const END_TIMEOUT_MS = 2_000;

/**
 * Waits for connections to end, but not for long: one whose other end has vanished is only given up by the operating system
 * after minutes. How they end makes no difference.
 */
export async function endSoon(ending: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, END_TIMEOUT_MS);
  });
  await Promise.race([ending.catch(() => undefined), timeout]);
  clearTimeout(timer);
}
