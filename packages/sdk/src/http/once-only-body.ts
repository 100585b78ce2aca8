/**
 * The JSON of a POST in a form that the runtime can't send twice by itself, or undefined where the text is one.
 *
 * Deno sends every request again, POSTs too, whose reused connection was lost before the answer (denoland/deno#36415),
 * and so creates links twice. It leaves alone what it can't read a second time, and a Blob counts as that. Chromium does
 * the same with any body: there only an idempotency key helps.
 */
export function onceOnlyBody(json: string): Blob | undefined {
  if (!('Deno' in globalThis)) return undefined;
  return new Blob([json], { type: 'application/json' });
}
