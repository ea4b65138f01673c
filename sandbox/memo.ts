/** Values beyond this number are computed each time. */
const MAX_VALUES = 1_000;

/**
 * Keeps values that depend on their key alone: the same seed gives the same keys and certificates in every sandbox of a process, and
 * they take most of a start. Whoever gets a value does not change it.
 */
export function createMemo<T>(): (key: string, create: () => T) => T {
  const values = new Map<string, T>();
  return (key, create) => {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = create();
    if (values.size < MAX_VALUES) values.set(key, value);
    return value;
  };
}
