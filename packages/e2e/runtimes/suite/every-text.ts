/**
 * Every text that can be reached from a value: the keys and values of its own properties (symbols and non-enumerable ones
 * too), the entries of iterables, and the values of getters of its classes.
 */
export function everyText(root: unknown): string {
  const seen = new Set<unknown>();
  const texts: string[] = [];
  const visit = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value);
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return;
    if (seen.has(value)) return;
    seen.add(value);
    if (value instanceof Headers || value instanceof Map || value instanceof Set) {
      for (const entry of value) visit(entry);
    }
    for (const key of keysOf(value)) {
      texts.push(String(key));
      visit(read(value, key));
    }
  };
  visit(root);
  return texts.join('\n');
}

/** The value's own keys and those of its classes, without the classes of the runtime. */
function keysOf(value: object): Set<string | symbol> {
  const keys = new Set<string | symbol>();
  let owner: object | null = value;
  while (owner !== null && owner !== Object.prototype && owner !== Function.prototype) {
    for (const key of Reflect.ownKeys(owner)) keys.add(key);
    owner = Reflect.getPrototypeOf(owner);
  }
  return keys;
}

/** A getter may throw, such as `caller` of a function. */
function read(value: object, key: string | symbol): unknown {
  try {
    return Reflect.get(value, key);
  } catch (error) {
    return String(error);
  }
}
