/**
 * Whether a value carries one of this package's error markers. The markers are registered symbols
 * (`Symbol.for`), so they match across duplicate copies of the package, where `instanceof` says no.
 */
export function hasMarker(value: unknown, marker: symbol): boolean {
  return typeof value === 'object' && value !== null && marker in value;
}
