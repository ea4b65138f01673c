import { TidemarkError } from '../../core/errors.ts';
import { ServiceError } from '../../http/errors.ts';
import type { ExtractContext } from '../source.ts';

/**
 * Reads each of the things that a list names. What is not found may have been deleted since it was listed — or may be there
 * and not be permitted, which services also answer with 404: the list is then asked again, and what it still names is a failure,
 * never a silent gap.
 */
export async function listThenRead<T>(
  run: ExtractContext,
  listed: readonly T[],
  listAgain: () => Promise<readonly T[]>,
  nameOf: (item: T) => string,
  read: (item: T) => Promise<void>,
): Promise<void> {
  const missing: T[] = [];
  await run.forEachLimited(listed, async (item) => {
    await read(item).catch((error: unknown) => {
      if (!(error instanceof ServiceError) || error.failure !== 'not-found') throw error;
      missing.push(item);
    });
  });
  if (missing.length === 0) return;
  const still = new Set((await listAgain()).map(nameOf));
  const unreadable = missing.find((item) => still.has(nameOf(item)));
  if (unreadable === undefined) return;
  throw new TidemarkError('DATA', `${nameOf(unreadable)} is listed but answers that it is not found`, {
    hint: 'the token may not be permitted to read it',
  });
}
