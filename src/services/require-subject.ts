import { TidemarkError } from '../core/errors.ts';
import { ServiceError } from '../http/errors.ts';
import type { Args, Operation } from './operation.ts';

/**
 * Reads the subject of an update that would create it, if it is missing.
 * @throws TidemarkError UNSAFE when it is missing; ServiceError when that cannot be found out. Nothing is changed then.
 */
export async function requireSubject(
  operation: Operation,
  args: Args,
  read: (subject: Operation, args: Args) => Promise<unknown>,
): Promise<void> {
  const { subjectRead } = operation;
  if (!subjectRead) return;
  const own = Object.fromEntries(Object.keys(subjectRead.params).map((name) => [name, args[name]]));
  try {
    await read(subjectRead, own);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.failure !== 'not-found') throw error;
    const subject = Object.values(own).map(String).join('/');
    throw new TidemarkError('UNSAFE', `${operation.name}: ${subject} does not exist, and the update would create it`, {
      hint: 'check the name; `tidemark api --create` creates it',
      cause: error,
    });
  }
}
