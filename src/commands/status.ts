import { resolve } from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { loadJobs } from '../core/jobs.ts';
import { nextRuns } from '../scheduler/timetable.ts';
import { openPublished } from '../warehouse/session.ts';
import { textTable } from './text-table.ts';

export function registerStatus(program: Command, context: () => Context): void {
  program
    .command('status')
    .description('last runs, freshness of every source, next runs')
    .action(() => status(context()));
}

async function status(context: Context): Promise<void> {
  const config = loadConfig(resolve(context.cwd, context.configFile), context.env, context.redactor);
  const next = nextRuns((await loadJobs(config, context.env)).values(), context.clock.now());
  const { database, files } = await openPublished(config);
  const now = context.clock.now().toISOString();
  try {
    const runs = await database.rows(await files.text('status/runs'));
    const sources = await database.rows(await files.text('status/sources'), {
      now,
      stale_hours: config.thresholds.staleHours,
    });
    if (context.json) {
      context.stdout(`${JSON.stringify({ runs, sources, next }, null, 2)}\n`);
      return;
    }
    const table = (rows: readonly Record<string, unknown>[], columns: readonly string[]) =>
      textTable(
        columns,
        rows.map((row) => columns.map((column) => row[column])),
      );
    context.stdout(`${table(runs, ['run_id', 'job', 'status', 'started_at', 'finished_at'])}\n\n`);
    context.stdout(`${table(sources, ['target', 'source', 'status', 'as_of', 'age', 'stale', 'error'])}\n`);
    if (next.length > 0)
      context.stdout(
        `\n${table(
          next.map((run) => ({ ...run })),
          ['next', 'job', 'timezone'],
        )}\n`,
      );
  } finally {
    database.close();
  }
}
