import type { Config } from '../../config/config.ts';
import type { Log } from '../../core/log.ts';
import { discoverFiles, isPresent } from '../../core/paths.ts';
import { describeQueryError, MAX_QUERY_MS } from '../../warehouse/database.ts';
import { readFingerprint, warehouseFiles } from '../../warehouse/publish.ts';
import { withPublished } from '../../warehouse/session.ts';
import { findHeaderFault, parseHeader } from '../../warehouse/sql-files.ts';
import type { Row } from '../../warehouse/values.ts';
import type { Scheduler } from './scheduler.ts';

interface PrometheusMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  /** The sample is in `value`; every other column is a label. A value that is not known is no sample. */
  readonly rows: readonly Row[];
}

/** Prometheus text exposition format 0.0.4. */
export function toPrometheusText(metrics: readonly PrometheusMetric[]): string {
  return metrics
    .flatMap(({ name, help, type, rows }) => {
      const samples = rows.filter(({ value = null }) => value !== null).map((row) => formatSample(name, row));
      return samples.length === 0 ? [] : [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples];
    })
    .map((line) => `${line}\n`)
    .join('');
}

function formatSample(name: string, { value, ...labels }: Row): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(String(text ?? ''))}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${Number(value)}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/**
 * Reads the metrics of `queries/metrics/` over the published warehouse. A file is a metric, its column `value` the sample, every other
 * column a label. They are read again only after the warehouse is replaced, so that a scrape is cheap.
 */
export function createWarehouseMetrics(config: Config, log: Log): () => Promise<readonly PrometheusMetric[]> {
  const { published } = warehouseFiles(config.data);
  let version: string | undefined;
  let metrics: Promise<readonly PrometheusMetric[]> = Promise.resolve([]);
  return async () => {
    if (!isPresent(published)) return [];
    const current = await readFingerprint(published);
    if (version !== current) metrics = readMetrics(config, log);
    version = current;
    metrics.catch(() => {
      version = undefined;
    });
    return metrics;
  };
}

/** A metric that cannot be read is logged and omitted: one custom file must not break the others. */
function readMetrics(config: Config, log: Log): Promise<readonly PrometheusMetric[]> {
  return withPublished(config, async ({ database, files }) => {
    const metrics: PrometheusMetric[] = [];
    // One after another: none may be under way when the database is closed.
    for (const name of discoverFiles(files.roots, 'queries/metrics', '.sql').keys()) {
      try {
        const sql = files.read(`metrics/${name}`);
        const fault = findHeaderFault(sql, ['help']);
        if (fault) throw new Error(fault);
        const all = await database.rows(sql, {}, MAX_QUERY_MS);
        const rows = all.filter(({ target }) => !config.elsewhere?.includes(String(target))); // those are metrics of another shard
        metrics.push(toMetric(name, parseHeader(sql).help ?? name, rows));
      } catch (error) {
        log.warn(describeQueryError(`metrics/${name}`, error));
      }
    }
    return metrics;
  });
}

const NAME = /^[a-z_]\w*$/iu;

/** @throws Error for a name that Prometheus refuses, with all that it would read beside it */
function toMetric(name: string, help: string, rows: readonly Row[]): PrometheusMetric {
  const { value, ...labels } = rows[0] ?? { value: null };
  const refused = Object.keys(labels).find((label) => !NAME.test(label));
  if (!NAME.test(name)) throw new Error('a metric cannot have this name');
  if (refused !== undefined) throw new Error(`a label cannot have the name ${refused}`);
  if (value === undefined) throw new Error('it has no column value');
  return { name, help, type: 'gauge', rows };
}

export function schedulerMetrics(scheduler: Scheduler): readonly PrometheusMetric[] {
  const counts = scheduler.counts();
  const next = scheduler.nextRuns().map((run) => ({ job: run.job, value: Date.parse(run.next) / 1000 }));
  const running = counts.map((own) => ({ job: own.job, value: Number(own.running) }));
  const ended = counts.flatMap(({ job, succeeded, failed }) => [
    { job, result: 'succeeded', value: succeeded },
    { job, result: 'failed', value: failed },
  ]);
  const skipped = counts.flatMap(({ job, skipped: reasons }) =>
    Object.entries(reasons).map(([reason, value]) => ({ job, reason, value })),
  );
  const metrics = [
    ['next_run_timestamp_seconds', 'Time of the next run of a job.', 'gauge', next],
    ['running', 'Whether a job runs or waits for another one.', 'gauge', running],
    ['runs_total', 'Runs that this scheduler finished.', 'counter', ended],
    ['skipped_total', 'Starts that this scheduler skipped.', 'counter', skipped],
  ] as const;
  return metrics.map(([name, help, type, rows]) => ({ name: `tidemark_schedule_${name}`, help, type, rows }));
}
