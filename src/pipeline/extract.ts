import { rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import pLimit from 'p-limit';
import { describe, TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { Redactor } from '../core/redact.ts';
import type { Meter } from '../http/meter.ts';
import { type Failure, ServiceError } from '../http/service-error.ts';
import type { Manifest } from '../landing/manifest.ts';
import { type LandingWriter, openLanding } from '../landing/writer.ts';
import type { ServiceClient } from '../services/client.ts';
import type { ExtractContext, SourceDefinition } from '../sources/source.ts';
import { classifyStorageError } from '../warehouse/integrity.ts';

export interface ExtractOptions {
  readonly source: SourceDefinition;
  readonly service: ServiceClient;
  /** `data/landing/RUN/TARGET`. */
  readonly directory: string;
  readonly runId: string;
  readonly asOf: string;
  readonly meter: Meter;
  readonly signal: AbortSignal;
  readonly redactor: Redactor;
  readonly log: Log;
  readonly shared: ExtractContext['once'];
}

/** Failures of one way of asking that another way may not have; one that stays silent has cost minutes already. */
const WAY_FAILURES: ReadonlySet<Failure> = new Set<Failure>([
  'server',
  'truncated',
  'malformed',
  'too-large',
  'invalid',
  'not-found',
]);

/**
 * Extracts a source and hands the landed files to `use` (the load). What is refused as not as declared, at landing or at
 * loading, is asked for again, another way where the source knows one; the refused file is kept.
 */
export async function extractAndUse<T>(options: ExtractOptions, use: (manifest: Manifest) => Promise<T>): Promise<T> {
  const { source, service, directory, runId, asOf, redactor, log, signal, meter } = options;
  const { target } = service;
  let shared = options.shared;
  let ways = [source.extract, ...(source.fallbacks ?? [source.extract])];
  for (;;) {
    const [way, ...others] = ways as [Way, ...Way[]];
    const land = openLanding({ directory, source: source.name, target, runId, asOf, redactor });
    let whole = false;
    try {
      await way(extractionOf({ ...options, shared }, land));
      const manifest = await land.commit();
      whole = true;
      return await use(manifest);
    } catch (error) {
      if (whole && !isRefusal(error)) throw error; // stopped, or the disk is full: the next run loads it
      await rm(join(directory, `${source.name}.json`), { force: true });
      await (classifyStorageError(error) ? land.discard() : land.reject());
      ways = others.filter((other) => mayDiffer(error, way, other));
      if (ways.length === 0 || signal.aborted) throw isRefusal(error) ? withPlace(error, directory) : error;
      log.info(`${target.name}: ${source.name}: ${describe(error)}; asking again`);
      meter.retries++;
      shared = memo(); // what was asked for once may be what was wrong
    }
  }
}

/** Where a person finds what was refused. */
function withPlace(error: TidemarkError, directory: string): TidemarkError {
  if (error.hint !== undefined) return error;
  const folder = directory.split(sep).slice(-3).join('/');
  const hint = `what came is kept in ${folder}, under names that end in .refused`;
  return new TidemarkError('DATA', error.message, { hint, cause: error });
}

type Way = SourceDefinition['extract'];

/** What a service refuses has been asked for again already: only another way is left. Data may be whole the next time. */
function mayDiffer(error: unknown, tried: Way, other: Way): boolean {
  if (error instanceof ServiceError) return other !== tried && WAY_FAILURES.has(error.failure);
  return isRefusal(error) && error.constructor === TidemarkError;
}

/** What is wrong with the rows themselves. */
function isRefusal(error: unknown): error is TidemarkError {
  return error instanceof TidemarkError && error.code === 'DATA' && !classifyStorageError(error);
}

function extractionOf(
  { service, asOf, meter, signal, log, shared }: ExtractOptions,
  land: LandingWriter,
): ExtractContext {
  const failed = new AbortController();
  const expect = (rows: number) => {
    meter.rows += rows;
    land.expectRows(rows);
  };
  return {
    client,
    landing: { ...land, expectRows },
    log,
    asOf,
    once,
    requestOptions: { meter, signal: AbortSignal.any([signal, failed.signal]) },
    forEachLimited: (items, work) => eachFew(items, work, service.target.limits.concurrency * 2, failed),
  };
}

/**
 * Works on a few items at a time. The first failure stops what is under way and begins nothing more; it is thrown once all
 * have ended, so that nobody writes to a landing that is given up. Calls may be nested: each has its own few.
 */
async function eachFew<T>(
  items: readonly T[],
  work: (item: T) => Promise<void>,
  few: number,
  failed: AbortController,
): Promise<void> {
  const window = pLimit(few);
  await window.map(items, async (item) => {
    if (failed.signal.aborted) return;
    try {
      await work(item);
    } catch (error) {
      failed.abort(error); // the first one stays its reason
    }
  });
  failed.signal.throwIfAborted();
}

/** Asks once for what several sources of a target need; a failure is shared as well. */
export function memo(): ExtractContext['once'] {
  const asked = new Map<string, Promise<unknown>>();
  return <T>(name: string, ask: () => Promise<T>): Promise<T> => {
    const known = asked.get(name) as Promise<T> | undefined;
    if (known) return known;
    const fresh = ask();
    asked.set(name, fresh);
    return fresh;
  };
}
