import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { Config } from '../../config/config.ts';
import type { Log } from '../../core/log.ts';
import { discoverFiles } from '../../core/paths.ts';
import { type Database, firstLine } from '../../warehouse/database.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { withPublished } from '../../warehouse/session.ts';
import { parseHeader, type SqlFiles } from '../../warehouse/sql-files.ts';
import type { Value } from '../../warehouse/values.ts';
import type { Scheduler } from './scheduler.ts';

export interface PrometheusMetric {
  readonly name: string;
  readonly help: string;
  readonly type: 'gauge' | 'counter';
  readonly samples: readonly Sample[];
}

interface Sample {
  readonly labels: Readonly<Record<string, Value>>;
  readonly value: number;
}

/** Prometheus text exposition format 0.0.4. */
export function toPrometheusText(metrics: readonly PrometheusMetric[]): string {
  return metrics
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, help, type, samples }) => {
      const lines = samples.map((sample) => formatSample(name, sample));
      return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines, ''].join('\n');
    })
    .join('');
}

function formatSample(name: string, { labels, value }: Sample): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(String(text ?? ''))}"`);
  return `${name}${pairs.length > 0 ? `{${pairs.join(',')}}` : ''} ${value}`;
}

function escapeLabel(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

/**
 * The metrics of `queries/metrics/` over the published warehouse. A file is a metric, its column `value` the sample, every other
 * column a label. They are read again only after the warehouse is replaced, so that a scrape is cheap.
 */
export class WarehouseMetrics {
  readonly #config: Config;
  readonly #log: Log;
  #version: string | undefined;
  #metrics: Promise<readonly PrometheusMetric[]> = Promise.resolve([]);

  constructor(config: Config, log: Log) {
    this.#config = config;
    this.#log = log;
  }

  async read(): Promise<readonly PrometheusMetric[]> {
    const { published } = warehouseFiles(this.#config.data);
    if (!existsSync(published)) return [];
    const { ino, mtimeMs, size } = await stat(published);
    const version = `${ino} ${mtimeMs} ${size}`;
    if (this.#version !== version) {
      this.#version = version;
      this.#metrics = readMetrics(this.#config, this.#log);
    }
    return this.#metrics;
  }
}

function readMetrics(config: Config, log: Log): Promise<readonly PrometheusMetric[]> {
  return withPublished(config, async ({ database, files }) => {
    const names = [...(await discoverFiles(files.roots, 'queries/metrics', '.sql')).keys()];
    return (await Promise.all(names.map((name) => readMetric(database, files, name, log)))).flat();
  });
}

/** A metric that cannot be read is logged and omitted: one custom file must not break the others. */
async function readMetric(
  database: Database,
  files: SqlFiles,
  name: string,
  log: Log,
): Promise<readonly PrometheusMetric[]> {
  const sql = await files.read(`metrics/${name}`);
  try {
    const rows = await database.rows(sql);
    return [{ name, help: parseHeader(sql).help ?? name, type: 'gauge', samples: rows.map(toSample) }];
  } catch (error) {
    log.warn(`queries/metrics/${name}.sql: ${firstLine(error)}`);
    return [];
  }
}

function toSample({ value, ...labels }: Readonly<Record<string, Value>>): Sample {
  return { labels, value: Number(value) };
}

/** The metrics of the scheduler itself. */
export function schedulerMetrics(scheduler: Scheduler): readonly PrometheusMetric[] {
  const counts = scheduler.counts();
  return [
    {
      name: 'tidemark_schedule_next_run_timestamp_seconds',
      help: 'Time of the next run of a job.',
      type: 'gauge',
      samples: scheduler.nextRuns().map(({ job, next }) => ({ labels: { job }, value: Date.parse(next) / 1000 })),
    },
    {
      name: 'tidemark_schedule_running',
      help: 'Whether a job runs or waits for another one.',
      type: 'gauge',
      samples: counts.map(({ job, running }) => ({ labels: { job }, value: Number(running) })),
    },
    {
      name: 'tidemark_schedule_runs_total',
      help: 'Runs that this scheduler finished.',
      type: 'counter',
      samples: counts.flatMap(({ job, succeeded, failed }) => [
        { labels: { job, result: 'succeeded' }, value: succeeded },
        { labels: { job, result: 'failed' }, value: failed },
      ]),
    },
    {
      name: 'tidemark_schedule_skipped_total',
      help: 'Starts that this scheduler skipped.',
      type: 'counter',
      samples: counts.flatMap(({ job, skipped }) =>
        Object.entries(skipped).map(([reason, value]) => ({ labels: { job, reason }, value })),
      ),
    },
  ];
}
