/**
 * Gives an error the stack of the place that calls this. An error made in a timer or behind `new Promise` knows nothing
 * of the code that waits for it; captured in the async function that it passes through, its stack leads to the caller.
 * V8 only; elsewhere the stack stays as it is.
 */
export function recaptureStack(error: Error): void {
  const capture: unknown = Reflect.get(Error, 'captureStackTrace');
  if (typeof capture === 'function') capture(error, recaptureStack);
}
