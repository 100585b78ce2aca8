/**
 * A number of an option or argument. Without this check `--seeds 10.000` would play ten seeds, and `--seeds many` none, with success.
 *
 * @throws Error when the text is anything else than the digits of a whole number above 0
 */
export function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d*$/.test(text)) {
    throw new Error(`${name} is "${text}"; expected a whole number above 0`);
  }
  return Number(text);
}
