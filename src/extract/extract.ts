import { type LinkedSignal, linkSignals } from '../core/abort.ts';
import { allInOrder } from '../core/all-in-order.ts';
import { formatSeconds } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { plural } from '../core/plural.ts';
import { ServiceError } from '../http/errors.ts';
import type { RequestMetrics } from '../http/response-body.ts';
import { landingDirectory, type ReadState } from '../landing/store.ts';
import { createLandingWriter, type LandingWriter } from '../landing/writer.ts';
import { BoundExceededError, type Bounds, createPageCounter, readBounds } from '../services/bounds.ts';
import { type ServiceClient, withRequestOptions } from '../services/client.ts';
import { describeOther, type ServiceIdentity } from '../services/describe-server.ts';
import { quoteIdent } from '../warehouse/sql-files.ts';
import { historyTable } from '../warehouse/tables.ts';
import { forEachLimited } from './for-each-limited.ts';
import { createObjectReuse } from './reuse.ts';
import type { ActivePull, Extraction, RunContext } from './run-context.ts';
import type { ExtractContext, SourceDefinition } from './sources/source.ts';

export function openLanding({ run, pull }: Extraction): LandingWriter {
  const { target, source, metrics } = pull;
  return createLandingWriter({
    directory: landingDirectory(run.config, run.runId, target.name),
    source: source.name,
    target,
    runId: run.runId,
    asOf: run.asOf.toISOString(),
    redactor: run.redactor,
    metrics,
  });
}

/** Extracts a source into its landing. The caller rejects or discards the landing if this throws. */
export async function extract(task: Extraction, strategy: SourceDefinition['extract'], landing: LandingWriter) {
  const { run, pull, client, once } = task;
  const work = linkSignals(run.signal);
  const { metrics, source } = pull;
  const { database, files } = run.warehouse;
  const bounds = readBounds(client.target);
  const timer = startTimeBound(source.name, bounds.maxSeconds, 'limits.maxSeconds', work.abort);
  const identify = async () => (client.target.flavor === 'hashicorp' ? task.identify().catch(takeSilence) : null);
  const identifyFirst = () => once('identity', identify);
  const reuse = createObjectReuse({ ...task, identify: async () => (await identifyFirst()) ?? null }, landing);
  metrics.reused = 0;
  metrics.replaced = 0;
  const context: ExtractContext = {
    client: boundClient(withRequestOptions(client, { metrics, signal: work.signal }), bounds, source.name, metrics),
    landing,
    log: run.log,
    signal: work.signal,
    metrics,
    asOf: run.asOf.toISOString(),
    once,
    objects: reuse.objects,
    knownParts: () => run.writes(() => readKnownParts(run, pull)),
    query: (name) => run.writes(async () => database.rows(files.read(`warehouse/${name}`))),
    forEachLimited: (items, each) => forEachLimited(items, each, client.target.limits.concurrency * 2, work),
  };
  let reads: ReadState | undefined;
  /** Null for a service that does not say; undefined where it could not answer. */
  let first: ServiceIdentity | null | undefined;
  try {
    [, first] = await allInOrder([strategy(context), identifyFirst()]); // of a service that hangs, each takes minutes
  } finally {
    clearTimeout(timer);
    work.release();
    reads = await reuse.end();
  }
  if (metrics.replaced > 0) {
    landing.addNote(`${plural(metrics.replaced, 'text')} not valid in Unicode: U+FFFD is in place of what was not`);
  }
  if (first === null) return landing.commit(reads && { reads });
  // Another one may have taken over meanwhile. What hangs is not asked after each source.
  const installation = (await (first ? identify() : once('identity again', identify))) ?? first;
  const other = describeOther(first, installation);
  if (other !== undefined) throw new TidemarkError('DATA', `${source.name}: another installation answers: ${other}`);
  return landing.commit({ ...(reads && { reads }), ...(installation && { installation }) });
}

/** For `catch`: a service that cannot say what it is has answered all the same. */
function takeSilence(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.failure === 'aborted') throw error;
  return undefined;
}

async function readKnownParts({ warehouse }: RunContext, { target, source }: ActivePull) {
  const { database, files, tables } = warehouse;
  const table = tables.get(source.name);
  if (table?.part === undefined) return new Set<string | null>();
  const parts = { history: historyTable(table), part: quoteIdent(table.part) };
  const rows = await database.rows(files.render('warehouse/known_parts', parts), { target: target.name });
  return new Set(rows.map(({ part }) => (part === null ? null : String(part))));
}

/** Runs a request once for all sources of a target that need its result. They share a failure as well. */
export function createOnce(): ExtractContext['once'] {
  const results = new Map<string, Promise<unknown>>();
  return <T>(name: string, request: () => Promise<T>): Promise<T> => {
    const result = (results.get(name) as Promise<T> | undefined) ?? request();
    results.set(name, result);
    return result;
  };
}

/** The longest delay of setTimeout. It fires immediately for a longer one. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A client for one source, whose calls fail once the source has taken more than its bounds. */
function boundClient(client: ServiceClient, bounds: Bounds, source: string, metrics: RequestMetrics): ServiceClient {
  const count = createPageCounter(bounds, source);
  const startBytes = metrics.bytes;
  const countBytes = <T>(result: T): T => {
    if (metrics.bytes - startBytes <= bounds.maxBytes) return result;
    throw new BoundExceededError(`${source} has more than ${bounds.maxBytes} bytes`, 'limits.maxBytes');
  };
  return {
    ...client,
    call: async (operation, args, options) => countBytes(await client.call(operation, args, options)),
    async *pages(operation, args, options) {
      for await (const page of client.pages(operation, args, options)) {
        count(page.items.length);
        yield countBytes(page);
      }
    },
    download: async (operation, args, file, options) =>
      countBytes(await client.download(operation, args, file, options)),
  };
}

/** Aborts what takes too long: the extraction of a source, or all pulls of a run. */
export function startTimeBound(what: string, seconds: number, setting: string, abort: LinkedSignal['abort']) {
  const error = new BoundExceededError(`${what} takes longer than ${formatSeconds(seconds * 1000)}`, setting);
  return setTimeout(() => abort(error), Math.min(MAX_TIMER_MS, seconds * 1000));
}
