import { readJobs } from '../config/job.ts';
import type { Context } from '../core/context.ts';
import { EXIT } from '../core/errors.ts';
import { groupBy } from '../core/group-by.ts';
import { shortenText, stripControls } from '../core/log.ts';
import { plural } from '../core/plural.ts';
import type { PullOutcome } from '../load/record-pulls.ts';
import { formatReason, groupByReason } from '../run/progress.ts';
import { nextRuns } from '../run/schedule/cron-schedule.ts';
import { defineMissing } from '../warehouse/migrate.ts';
import { withPublished } from '../warehouse/session.ts';
import type { DefineCommand, Switches } from './define.ts';
import { readLocalConfig } from './options.ts';
import { formatTable, formatTime, writeResult } from './output.ts';

export const define: DefineCommand = (command) =>
  command
    .option('--exit-code', 'exit 1 if a source is stale, or a target was never pulled')
    .runs(() => import('./status.ts'), 'status');

export async function status(context: Context, { exitCode }: Switches<'exitCode'>): Promise<void> {
  const config = readLocalConfig(context);
  const { jobs, problems } = readJobs(config, context.env);
  for (const problem of problems) context.log.warn(problem);
  const next = nextRuns(jobs, context.clock.now());
  const now = context.clock.now().toISOString();
  const { staleHours, lifecycleDays } = config.thresholds;
  await withPublished(config, async ({ database, files }) => {
    const runs = await database.rows(files.read('status/runs'));
    // What another shard has since is in the status of that one.
    const isHere = ({ target }: Rows[number]) => !config.elsewhere?.includes(String(target));
    const all = await database.rows(files.read('status/sources'), { now, stale_hours: staleHours });
    const sources = all.filter(isHere);
    const failed = (await database.rows(files.read('status/failures'))).filter(isHere);
    const failures = failed as unknown as Status['failures'];
    await defineMissing([database], files);
    const lifecycle = await database.rows(files.read('status/lifecycle'), { now, lifecycle_days: lifecycleDays });
    const state = { runs, sources, lifecycle, next };
    writeResult(context, state, () => formatStatus(context, { ...state, failures }));
    const missing = config.targets.filter(({ name }) => !sources.some(({ target }) => target === name));
    if (missing.length > 0)
      context.log.warn(`never pulled: ${shortenText(missing.map(({ name }) => name).join(', '), 200)}`);
    if (exitCode && (missing.length > 0 || sources.some(({ stale }) => stale))) context.exit(EXIT.incomplete);
  });
}

type Rows = readonly Readonly<Record<string, unknown>>[];

interface Status extends Readonly<Record<'runs' | 'sources' | 'lifecycle' | 'next', Rows>> {
  readonly failures: readonly Pick<PullOutcome, 'target' | 'source' | 'error' | 'failure'>[];
}

function formatStatus(context: Context, { runs, sources, failures, lifecycle, next }: Status): string {
  const table = (rows: Rows, labels: readonly string[]) =>
    formatTable(
      labels,
      rows.map((row) => labels.map((label) => (typeof row[label] === 'string' ? formatTime(row[label]) : row[label]))),
      { ...context, wholeColumns: ['run_id'], spareColumns: ['started_at'] },
    );
  return [
    table(runs, ['run_id', 'job', 'status', 'started_at', 'finished_at']),
    table(sources, ['target', 'source', 'status', 'as_of', 'age', 'stale']),
    ...formatErrors(failures),
    `${formatFacts(lifecycle)}\n`,
    ...(next.length > 0 ? [table(next, ['next', 'job', 'timezone'])] : []),
  ].join('\n');
}

/** `facts about the support of versions: of 2026-08-22 (packaged), 94 days old` */
function formatFacts(lifecycle: Rows): string {
  const known = lifecycle.map(
    ({ origin, data_as_of: day, days, stale }) =>
      `of ${String(day)} (${String(origin)}), ${plural(Number(days), 'day')} old${stale ? ', stale' : ''}`,
  );
  return `facts about the support of versions: ${known.join('; ') || 'none'}`;
}

/** Why sources failed: one line for each reason of a target, `acme: 401 unauthorized: … (agents, workspaces)`. */
function formatErrors(failures: Status['failures']): readonly string[] {
  const lines = [...groupBy(failures, ({ target }) => target)].flatMap(([target, own]) =>
    [...groupByReason(own)].map(
      ([reason, group]) =>
        `${target}: ${formatReason(reason, group)} (${group.map(({ source }) => source).join(', ')})\n`,
    ),
  );
  return lines.length === 0 ? [] : [stripControls(lines.join(''))];
}
