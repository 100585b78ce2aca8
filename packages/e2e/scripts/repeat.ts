/** Runs `call` again and again for so many seconds, `concurrency` calls at a time. Resolves to the number of calls. */
export async function repeat(
  options: { seconds: number; concurrency: number },
  call: (count: number) => Promise<unknown>,
): Promise<number> {
  const end = performance.now() + options.seconds * 1_000;
  let calls = 0;
  await Promise.all(
    Array.from({ length: options.concurrency }, async () => {
      while (performance.now() < end) {
        calls += 1;
        await call(calls);
      }
    }),
  );
  return calls;
}
