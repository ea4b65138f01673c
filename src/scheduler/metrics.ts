import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Config } from '../core/config.ts';
import type { Log } from '../core/log.ts';
import { discover } from '../core/paths.ts';
import { type Database, firstLine } from '../warehouse/database.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { openPublished } from '../warehouse/session.ts';
import { headerOf, type SqlFiles } from '../warehouse/sql-files.ts';
import type { Plain } from '../warehouse/values.ts';
import type { Scheduler } from './scheduler.ts';

/** A metric with its samples, as Prometheus' text format has it. */
export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  readonly samples: readonly Sample[];
}

interface Sample {
  readonly labels: Readonly<Record<string, Plain>>;
  readonly value: number;
}

/** Prometheus text exposition format 0.0.4. */
export function expose(metrics: readonly Metric[]): string {
  return metrics
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, help, type, samples }) =>
      [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples.map((sample) => lineOf(name, sample)), ''].join(
        '\n',
      ),
    )
    .join('');
}

function lineOf(name: string, { labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text ?? ''))}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`;
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/**
 * What `queries/metrics/` says of the published warehouse: a file is a metric, its column `value` the sample, every other one a
 * label. Read again only when the file was replaced, so that a scrape costs nothing.
 */
export function warehouseMetrics(config: Config, log: Log): () => Promise<readonly Metric[]> {
  const { published } = warehouseFiles(config.data);
  let known: { readonly version: string; readonly metrics: Promise<readonly Metric[]> } | undefined;
  return async () => {
    if (!existsSync(published)) return [];
    const { ino, mtimeMs, size } = await stat(published);
    const version = `${ino} ${mtimeMs} ${size}`;
    if (known?.version !== version) known = { version, metrics: readMetrics(config, log) };
    return known.metrics;
  };
}

async function readMetrics(config: Config, log: Log): Promise<readonly Metric[]> {
  const { database, files } = await openPublished(config);
  try {
    const names = [...(await discover(files.roots, 'queries/metrics', '.sql')).keys()];
    const metrics = await Promise.all(names.map((name) => readMetric(database, files, name, log)));
    return metrics.flat();
  } finally {
    database.close();
  }
}

/** A metric that cannot be read is left out and said: a file of a user's own must not take the others down. */
async function readMetric(database: Database, files: SqlFiles, name: string, log: Log): Promise<readonly Metric[]> {
  const sql = await files.text(`metrics/${name}`);
  try {
    const rows = await database.rows(sql);
    return [{ name, help: headerOf(sql).help ?? name, type: 'gauge', samples: rows.map(sampleOf) }];
  } catch (error) {
    log.warn(`queries/metrics/${name}.sql: ${firstLine(error)}`);
    return [];
  }
}

function sampleOf({ value, ...labels }: Readonly<Record<string, Plain>>): Sample {
  return { labels, value: Number(value) };
}

/** What the scheduler itself knows. */
export function schedulerMetrics(scheduler: Scheduler): readonly Metric[] {
  const counts = scheduler.counts();
  const next = scheduler.next().map(({ job, next: at }) => ({ labels: { job }, value: Date.parse(at) / 1000 }));
  const runs = counts.flatMap(({ job, succeeded, failed }) => [
    { labels: { job, result: 'succeeded' }, value: succeeded },
    { labels: { job, result: 'failed' }, value: failed },
  ]);
  const skipped = counts.flatMap(({ job, skipped: reasons }) =>
    Object.entries(reasons).map(([reason, value]) => ({ labels: { job, reason }, value })),
  );
  return [
    metric('tidemark_schedule_next_run_timestamp_seconds', 'When a job is next due.', 'gauge', next),
    metric(
      'tidemark_schedule_running',
      'Whether a job is under way or waits for its turn.',
      'gauge',
      counts.map(({ job, running }) => ({ labels: { job }, value: Number(running) })),
    ),
    metric('tidemark_schedule_runs_total', 'Runs that this scheduler ended.', 'counter', runs),
    metric('tidemark_schedule_skipped_total', 'Starts that this scheduler left out.', 'counter', skipped),
  ];
}

function metric(name: string, help: string, type: Metric['type'], samples: readonly Sample[]): Metric {
  return { name, help, type, samples };
}
