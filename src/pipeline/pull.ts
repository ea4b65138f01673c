import { join } from 'node:path';
import pLimit, { type LimitFunction } from 'p-limit';
import type { Clock } from '../core/clock.ts';
import { type Config, credentialKey, type Target } from '../core/config.ts';
import { describe, TidemarkError } from '../core/errors.ts';
import type { Manifest } from '../core/landed.ts';
import type { Log } from '../core/log.ts';
import type { Redactor } from '../core/redact.ts';
import type { Timing } from '../core/timing.ts';
import { type Limiter, limiterFor } from '../http/limiter.ts';
import { createMeter, type Meter } from '../http/meter.ts';
import { connect, type Service } from '../services/connect.ts';
import { sources as allSources } from '../sources/index.ts';
import type { Extraction, Source } from '../sources/source.ts';
import type { Delta } from '../warehouse/history.ts';
import type { Warehouse } from '../warehouse/session.ts';
import { extractAndUse, memo } from './extract.ts';
import { verifyLanded } from './landings.ts';
import { loadSource, ShrinkError } from './load.ts';
import { outcomeOf, type PullEnd, type PullOutcome, recordPull } from './outcome.ts';
import type { Progress } from './progress.ts';

/** One source of one target. */
export interface Pull {
  readonly target: Target;
  readonly source: Source;
}

export interface PullOptions {
  readonly config: Config;
  readonly warehouse: Warehouse;
  readonly pulls: readonly Pull[];
  readonly runId: string;
  /** `valid_from` of what changes; see `nextMoment`. */
  readonly asOf: Date;
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
  readonly redactor: Redactor;
  readonly signal: AbortSignal;
  readonly progress: Progress;
  readonly timing?: Partial<Timing>;
  /** Sources whose mass disappearance a person has accepted. */
  readonly acceptShrink: ReadonlySet<string>;
  /** Loads what an earlier run landed instead of asking the network; by `TARGET/SOURCE`. */
  readonly fromRun?: ReadonlyMap<string, Manifest>;
}

/** The pulls that a selection of targets and sources names; nothing selected means all. */
export function planPulls(
  config: Config,
  selected: { readonly targets?: readonly string[]; readonly sources?: readonly string[] },
): readonly Pull[] {
  const targets = config.targets.filter(({ name }) => !selected.targets?.length || selected.targets.includes(name));
  return targets.flatMap((target) =>
    allSources
      .filter(
        ({ kind, name }) => kind === target.kind && (!selected.sources?.length || selected.sources.includes(name)),
      )
      .map((source) => ({ target, source })),
  );
}

/**
 * Extracts every source at once, each under its target's limit, and loads them one after another as they come. What fails
 * leaves its tables as they were and is said in `pulls`; the others go on.
 */
export async function pullAll(options: PullOptions): Promise<readonly PullOutcome[]> {
  const loads = pLimit(1);
  const services = connectAll(options);
  const memos = new Map(options.config.targets.map(({ name }) => [name, memo()]));
  const outcomes = options.pulls.map((pull) => {
    const service = services.get(pull.target.name) as Service;
    const shared = memos.get(pull.target.name) as Extraction['shared'];
    return pullOne(options, { ...pull, service, shared, loads, meter: createMeter() });
  });
  return Promise.all(outcomes).finally(() => Promise.all([...services.values()].map((service) => service.close())));
}

/** A pull under way. */
interface Running extends Pull {
  readonly service: Service;
  readonly shared: Extraction['shared'];
  /** One load at a time: there is one writer. */
  readonly loads: LimitFunction;
  readonly meter: Meter;
}

async function pullOne(options: PullOptions, running: Running): Promise<PullOutcome> {
  const { target, source, meter, loads } = running;
  const done = options.progress.start(target.name, source.name, meter);
  const startedAt = options.clock.now().toISOString();
  const record = async (end: PullEnd, landedAt: string | null) => {
    const outcome = outcomeOf(end, meter);
    const times = { runId: options.runId, asOf: options.asOf.toISOString(), startedAt, landedAt };
    await recordPull(options.warehouse, outcome, meter, { ...times, finishedAt: options.clock.now().toISOString() });
    return outcome;
  };

  const place = { target: target.name, source: source.name };
  let outcome: PullOutcome | undefined;
  let expected: number | null = null;
  const load = (manifest: Manifest) =>
    loads(async () => {
      expected = manifest.expected_rows;
      await loadLanded(options, manifest, async (delta) => {
        outcome = await record({ ...place, status: 'complete', expected, delta }, manifest.as_of);
      });
    });
  try {
    await (options.fromRun ? replay(options, options.fromRun, running, load) : extract(options, running, load));
  } catch (error) {
    const status = error instanceof ShrinkError ? 'quarantined' : 'failed';
    const reason = options.redactor.text(describe(error));
    outcome = await loads(() => record({ ...place, status, expected, error: reason }, null));
  }
  done(outcome as PullOutcome);
  return outcome as PullOutcome;
}

function extract(options: PullOptions, running: Running, load: (manifest: Manifest) => Promise<void>): Promise<void> {
  const { runId, asOf, signal, redactor, log } = options;
  const directory = landingDirectory(options.config, runId, running.target.name);
  return extractAndUse({ ...running, directory, runId, asOf: asOf.toISOString(), signal, redactor, log }, load);
}

/** Loads an earlier landing again, unless something newer is loaded already: history is not written backwards. */
async function replay(
  { config, warehouse: { database, files } }: PullOptions,
  landed: ReadonlyMap<string, Manifest>,
  { target, source, loads }: Running,
  load: (manifest: Manifest) => Promise<void>,
): Promise<void> {
  const manifest = landed.get(`${target.name}/${source.name}`);
  if (!manifest) throw new TidemarkError('DATA', 'the named run landed nothing whole of this source');
  const place = { target: target.name, source: source.name };
  const [row] = await loads(async () => database.rows(await files.text('warehouse/landed_at'), place));
  if (typeof row?.landed_at === 'string' && Date.parse(row.landed_at) > Date.parse(manifest.as_of)) {
    throw new TidemarkError('DATA', `what is loaded was pulled at ${row.landed_at}, after that run`, {
      hint: 'see the past with `tidemark sql --as-of`',
    });
  }
  await verifyLanded(landingDirectory(config, manifest.run_id, manifest.target), manifest);
  await load(manifest);
}

function loadLanded(options: PullOptions, manifest: Manifest, record: (delta: Delta) => Promise<void>): Promise<Delta> {
  const { warehouse, config, asOf, acceptShrink } = options;
  const directory = landingDirectory(config, manifest.run_id, manifest.target);
  const accepted = acceptShrink.has(manifest.source);
  const { shrinkPercent } = config;
  return loadSource(
    { warehouse, manifest, directory, asOf: asOf.toISOString(), shrinkPercent, acceptShrink: accepted },
    record,
  );
}

/** A service for each target; targets with one credential share its limit. */
function connectAll({ pulls, config, env, log, redactor, signal, timing }: PullOptions): ReadonlyMap<string, Service> {
  const limiters = new Map<string, Limiter>();
  const services = new Map<string, Service>();
  for (const { target } of pulls) {
    if (services.has(target.name)) continue;
    const key = credentialKey(target);
    const limiter = limiters.get(key) ?? limiterFor(target);
    limiters.set(key, limiter);
    // Arguments come from the services' own answers here: what is unusual about them is not the reader's to mend.
    const quiet = { ...log, warn: () => {} };
    services.set(
      target.name,
      connect(target, {
        redactor,
        log: quiet,
        signal,
        env,
        maxWaitMs: config.maxWait * 1000,
        limiter,
        ...(timing && { timing }),
      }),
    );
  }
  return services;
}

export function landingDirectory(config: Config, runId: string, target?: string): string {
  return join(config.data, 'landing', runId, ...(target ? [target] : []));
}
