/** The results of work that is under way, or the error of the first that fails in this order. None is under way any more then. */
export async function allInOrder<const T extends readonly unknown[]>(
  work: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
