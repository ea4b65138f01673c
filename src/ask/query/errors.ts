import type { Config } from '../../config/config.ts';
import { errorMessage, TidemarkError } from '../../core/errors.ts';
import { systemLack } from '../../core/fs.ts';
import { plural } from '../../core/plural.ts';

/** What one query may use. */
export type QueryLimits = Config['sql'];

export function timeoutError({ timeout }: Pick<QueryLimits, 'timeout'>): TidemarkError {
  return new TidemarkError('DATA', `the query was stopped after ${plural(timeout, 'second')}`, {
    hint: 'raise `sql.timeout` in the configuration; `tidemark sql` also takes --timeout SECONDS',
  });
}

/** A signal's reason that is an error of ours has its exit code. */
export function stopError(reason: unknown): TidemarkError {
  return reason instanceof TidemarkError ? reason : new TidemarkError('INCOMPLETE', errorMessage(reason));
}

/** DuckDB's message without the path of the temporary folder, or which limit the query met. */
export function queryError(error: unknown, limits: QueryLimits, temporary: string, hint?: string): TidemarkError {
  if (error instanceof TidemarkError) return error;
  const message = errorMessage(error)
    .replace(/^Failed to \w+ statements?: /u, '')
    .replaceAll(temporary, 'the temporary folder')
    .replace(/^LINE (\d+)(: .*\n)( *)/mu, (_, line: string, text: string, indent: string) => {
      const own = String(Number(line) - 1); // a line stands before the query
      return `LINE ${own}${text}${indent.slice(line.length - own.length)}`;
    });
  if (/Out of Memory Error|bad.alloc/u.test(message)) {
    return limitError(limits, message.includes('max_temp_directory_size') ? 'temporaryLimit' : 'memoryLimit');
  }
  const code = systemLack(error) === undefined ? 'DATA' : 'INCOMPLETE';
  return new TidemarkError(code, `the query failed: ${message}`, { cause: error, hint });
}

export function limitError(limits: QueryLimits, key: 'memoryLimit' | 'temporaryLimit'): TidemarkError {
  const what = key === 'memoryLimit' ? 'memory' : 'temporary disk space';
  return new TidemarkError('DATA', `the query needs more than ${limits[key]} of ${what}`, {
    hint: `select less, or raise \`sql.${key}\` in the configuration`,
  });
}

/** The process of a query ended by itself. It had no memory for its own work, or was killed from outside. @param fault why it never began */
export function endedError(memoryLimit: string, fault?: unknown): TidemarkError {
  if (fault !== undefined) {
    const why = systemLack(fault) ?? errorMessage(fault);
    return new TidemarkError('INCOMPLETE', `no process for queries can be started: ${why}`, { cause: fault });
  }
  return new TidemarkError('DATA', 'the process that ran the query ended', {
    hint: `the query may need more than ${memoryLimit} of memory: select less, or raise \`sql.memoryLimit\``,
  });
}
