import pLimit from 'p-limit';
import type { Clock } from '../core/clock.ts';
import type { Config, Target } from '../core/config.ts';
import type { Log } from '../core/log.ts';
import type { Redactor } from '../core/redact.ts';
import type { Timing } from '../core/timing.ts';
import { createMeter } from '../http/meter.ts';
import type { Manifest } from '../landing/manifest.ts';
import type { ServiceClient } from '../services/client.ts';
import { sources as allSources } from '../sources/index.ts';
import type { ExtractContext, SourceDefinition } from '../sources/source.ts';
import type { Warehouse } from '../warehouse/session.ts';
import { createClients } from './connect-targets.ts';
import { memo } from './extract.ts';
import type { PullOutcome } from './outcome.ts';
import type { Progress } from './progress.ts';
import { pullOne } from './pull-source.ts';

/** One source of one target. */
export interface Pull {
  readonly target: Target;
  readonly source: SourceDefinition;
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
  /** What interrupted runs of the job have landed, by `TARGET/SOURCE`. */
  readonly continued?: ReadonlyMap<string, Manifest>;
}

/** The pulls that a selection of targets and sources names; nothing selected means all. */
export function selectPulls(
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
export async function pullAll(given: PullOptions): Promise<readonly PullOutcome[]> {
  const halt = new AbortController();
  const options = { ...given, signal: AbortSignal.any([given.signal, halt.signal]) };
  const loads = pLimit(1);
  const settled = loads(() => options.warehouse.finishMigration()).catch((error: unknown) => halt.abort(error)); // while services are asked
  const services = createClients(options);
  const memos = new Map(options.config.targets.map(({ name }) => [name, memo()]));
  const pulls = options.pulls.map(async (pull) => {
    const service = services.get(pull.target.name) as ServiceClient;
    const shared = memos.get(pull.target.name) as ExtractContext['once'];
    try {
      return await pullOne(options, { ...pull, service, shared, loads, meter: createMeter() });
    } catch (error) {
      halt.abort(error); // what no source is to blame for ends them all
      throw error;
    }
  });
  const ends = await Promise.allSettled(pulls);
  await settled;
  await Promise.all([...services.values()].map((service) => service.close()));
  if (halt.signal.aborted) throw halt.signal.reason;
  return ends.flatMap((end) => (end.status === 'fulfilled' ? [end.value] : []));
}
