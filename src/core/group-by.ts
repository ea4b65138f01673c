/** The items of each key, in the order in which the keys come first. */
// until Node 22: Map.groupBy
export function groupBy<T, K>(items: Iterable<T>, toKey: (item: T) => K): Map<K, [T, ...T[]]> {
  const groups = new Map<K, [T, ...T[]]>();
  for (const item of items) {
    const group = groups.get(toKey(item));
    if (group) group.push(item);
    else groups.set(toKey(item), [item]);
  }
  return groups;
}
