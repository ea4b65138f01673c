import { errorMessage, TidemarkError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import type { QueryLimits } from './limits.ts';

/** A query met its limit of time. */
export function timeoutError({ timeoutSeconds }: QueryLimits): TidemarkError {
  return new TidemarkError('DATA', `the query was stopped after ${plural(timeoutSeconds, 'second')}`, {
    hint: 'raise `sql.timeout` in the configuration; `tidemark sql` also takes --timeout SECONDS',
  });
}

/** A signal's reason that is an error of ours has its exit code. */
export function stopError(reason: unknown): TidemarkError {
  return reason instanceof TidemarkError ? reason : new TidemarkError('INCOMPLETE', errorMessage(reason));
}

/** DuckDB's message without the path of the temporary folder, or which limit the query met. */
export function queryError(error: unknown, limits: QueryLimits, temporary: string): TidemarkError {
  if (error instanceof TidemarkError) return error;
  const message = errorMessage(error)
    .replace(/^Failed to \w+ statements?: /u, '')
    .replaceAll(temporary, 'the temporary folder');
  if (/Out of Memory Error/u.test(message)) {
    const isDisk = message.includes('max_temp_directory_size');
    const [what, key] = isDisk
      ? [`${limits.temporary} of temporary disk space`, 'temporaryLimit']
      : [`${limits.memory} of memory`, 'memoryLimit'];
    return new TidemarkError('DATA', `the query needs more than ${what}`, {
      hint: `select less, or raise \`sql.${key}\` in the configuration`,
      cause: error,
    });
  }
  return new TidemarkError('DATA', `the query failed: ${message}`, { cause: error });
}
