/** How often something was checked, and how often it could have been. */
interface Share {
  checked: number;
  of: number;
}

/** Shares of imports, and of their rows, in which rules were checked. */
export type Shares = Record<string, Share>;

/** Counts how often rules are checked that can't be checked always. */
export function count(shares: Shares, name: string, checked: number, of: number): void {
  const share = shares[name] ?? { checked: 0, of: 0 };
  shares[name] = { checked: share.checked + checked, of: share.of + of };
}

/** Adds up the shares of several scenarios. */
export function addShares(sum: Shares, some: Shares): void {
  for (const [name, { checked, of }] of Object.entries(some)) count(sum, name, checked, of);
}

/** The shares for a person, in percent. */
export function textOf(shares: Shares): string {
  const texts = Object.entries(shares).map(([name, { checked, of }]) => {
    return `${name} in ${((100 * checked) / Math.max(1, of)).toFixed(1)}%`;
  });
  return texts.join(', ');
}
