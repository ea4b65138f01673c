import type { LimitFunction } from 'p-limit';
import { describe, TidemarkError } from '../core/errors.ts';
import type { Meter } from '../http/meter.ts';
import type { Manifest } from '../landing/manifest.ts';
import { landingDirectory, verifyLanding } from '../landing/store.ts';
import type { ServiceClient } from '../services/client.ts';
import type { ExtractContext } from '../sources/source.ts';
import { classifyStorageError } from '../warehouse/integrity.ts';
import { extractAndUse } from './extract.ts';
import { RowDropError } from './load.ts';
import { loadLanded } from './load-landed.ts';
import { type PullOutcome, type PullResult, recordPull, toPullOutcome } from './outcome.ts';
import type { Pull, PullOptions } from './pull.ts';

/** A pull under way. */
export interface Running extends Pull {
  readonly service: ServiceClient;
  readonly shared: ExtractContext['once'];
  /** One load at a time: there is one writer. */
  readonly loads: LimitFunction;
  readonly meter: Meter;
}

type Load = (manifest: Manifest) => Promise<void>;

/**
 * Brings one source of one target into the warehouse, or says in `pulls` why not.
 * @throws what no source is to blame for: a full disk, a damaged working file.
 */
export async function pullOne(options: PullOptions, running: Running): Promise<PullOutcome> {
  const { target, source, meter, loads } = running;
  const done = options.progress.start(target.name, source.name, meter);
  const startedAt = options.clock.now().toISOString();
  const place = { target: target.name, source: source.name };
  const record = async (end: Omit<PullResult, keyof typeof place>, landedAt: string | null) => {
    const outcome = toPullOutcome({ ...place, ...end }, meter);
    const times = { runId: options.runId, asOf: options.asOf.toISOString(), startedAt, landedAt };
    await recordPull(options.warehouse, outcome, meter, { ...times, finishedAt: options.clock.now().toISOString() });
    return outcome;
  };

  let outcome: PullOutcome | undefined;
  let expected: number | null = null;
  const load: Load = (manifest) =>
    loads(async () => {
      expected = manifest.expected_rows;
      await loadLanded(options, manifest, async (delta) => {
        outcome = await record({ status: 'complete', expected, delta }, manifest.as_of);
      });
    });
  try {
    if (options.fromRun) await replay(options, options.fromRun, running, load);
    else outcome = (await resume(options, running, load)) ?? outcome;
    if (!outcome) await extract(options, running, load);
  } catch (error) {
    if (classifyStorageError(error)) throw error;
    const status = error instanceof RowDropError ? 'quarantined' : 'failed';
    const reason = options.redactor.text(describe(error));
    outcome = await loads(() => record({ status, expected, error: reason }, null));
  }
  done(outcome as PullOutcome);
  return outcome as PullOutcome;
}

function extract(options: PullOptions, running: Running, load: Load): Promise<void> {
  const { runId, asOf, signal, redactor, log } = options;
  const directory = landingDirectory(options.config, runId, running.target.name);
  return extractAndUse({ ...running, directory, runId, asOf: asOf.toISOString(), signal, redactor, log }, load);
}

/** Whether what holds now was asked for before, with or after a landing. */
async function whatHolds(
  { warehouse: { database, files } }: PullOptions,
  { target, source, loads }: Running,
  manifest: Manifest,
): Promise<{ readonly at: unknown; readonly age: 'older' | 'same' | 'newer' }> {
  const place = { target: target.name, source: source.name };
  const [row] = await loads(async () => database.rows(await files.read('warehouse/landed_at'), place));
  const at = row?.landed_at ?? null;
  const aheadMs = at === null ? Number.NEGATIVE_INFINITY : Date.parse(String(at)) - Date.parse(manifest.as_of);
  return { at, age: aheadMs < 0 ? 'older' : aheadMs > 0 ? 'newer' : 'same' };
}

/** Loads an earlier landing again, unless something newer is loaded already: history is not written backwards. */
async function replay(
  options: PullOptions,
  landed: ReadonlyMap<string, Manifest>,
  running: Running,
  load: Load,
): Promise<void> {
  const manifest = landed.get(`${running.target.name}/${running.source.name}`);
  if (!manifest) throw new TidemarkError('DATA', 'the named run landed nothing whole of this source');
  const held = await whatHolds(options, running, manifest);
  if (held.age === 'newer') {
    throw new TidemarkError('DATA', `what is loaded was pulled at ${held.at}, after that run`, {
      hint: 'see the past with `tidemark sql --as-of`',
    });
  }
  await verifyLanding(options.config, manifest);
  await load(manifest);
}

/**
 * Takes what an interrupted run landed whole: its pull counts for this run where it was loaded already, else it is loaded now.
 * What does not load as it landed, or is older than what holds, is asked for anew.
 */
async function resume(options: PullOptions, running: Running, load: Load): Promise<PullOutcome | undefined> {
  const { target, source, loads } = running;
  const manifest = options.continued?.get(`${target.name}/${source.name}`);
  if (!manifest) return undefined;
  const { age } = await whatHolds(options, running, manifest);
  if (age === 'same') return loads(() => carry(options, running, manifest));
  if (age === 'newer') return undefined;
  try {
    await verifyLanding(options.config, manifest);
    await load(manifest);
  } catch (error) {
    const refused = error instanceof TidemarkError && error.code === 'DATA';
    if (!refused || classifyStorageError(error) || options.signal.aborted) throw error;
    options.log.info(`${target.name}: ${source.name}: ${describe(error)}; asking anew`);
  }
  return undefined;
}

async function carry(
  options: PullOptions,
  { target, source, meter }: Running,
  manifest: Manifest,
): Promise<PullOutcome> {
  const { database, files } = options.warehouse;
  const place = { target: target.name, source: source.name };
  const [row] = await database.rows(await files.read('warehouse/carry_pull'), {
    ...place,
    run_id: options.runId,
    landed_at: manifest.as_of,
    now: options.clock.now().toISOString(),
  });
  const outcome = toPullOutcome({ ...place, status: 'complete', expected: manifest.expected_rows }, meter);
  return { ...outcome, rows: Number(row?.rows) };
}
