import type { Config } from '../../config/config.ts';
import type { Job } from '../../config/job.ts';
import { DAY_MS } from '../../core/clock.ts';
import { TidemarkError } from '../../core/errors.ts';
import { discoverFiles } from '../../core/paths.ts';
import { findLeftOut, isAbsent } from '../../extract/sources/index.ts';
import { renderChangesBetween } from '../../warehouse/changes.ts';
import type { SqlParams } from '../../warehouse/database.ts';
import { defineMissing } from '../../warehouse/migrate.ts';
import type { OpenWarehouse } from '../../warehouse/session.ts';
import { parseHeader, readHeader, refuseUnknown, splitList } from '../../warehouse/sql-files.ts';
import { thresholdParams, toJsonParam } from '../../warehouse/sql-params.ts';
import { classifyStorageError } from '../../warehouse/storage.ts';
import { listFilled, loadTables } from '../../warehouse/tables.ts';
import type { Row } from '../../warehouse/values.ts';
import { loadGuide, type PlaybookSummary } from '../findings/guide.ts';
import { queryFile } from '../reports/data.ts';
import type { Attachment } from './message.ts';
import type { Audience } from './recipients.ts';
import type { MailSettings } from './transport.ts';

/** Lines of a list in a mail; the attached CSV has the rest. */
export const MAX_LINES = 20;
const MAX_OLDEST = 8;
/** Rows of the attached CSV, and bytes of their texts: about 4 MB at most, which every mail server accepts. */
const MAX_ATTACHED = 10_000;
const MAX_ATTACHED_BYTES = 2_500_000;

export type MailJob = Pick<Job, 'name' | 'reports' | 'mail'>;

/** With the working copy of the warehouse, or the published one: it receives temporary tables and nothing else. */
export interface ComposeOptions extends OpenWarehouse {
  readonly config: Pick<Config, 'targets' | 'thresholds' | 'reportsUrl' | 'mail' | 'subjectPages'>;
  readonly job: MailJob;
  readonly run: { readonly runId: string; readonly asOf: Date };
  readonly composedAt: Date;
  /** Recipients instead of those of the job and the routes. They get the unfiltered digest, and `when` is ignored. */
  readonly to?: readonly string[];
  /** Whether a user requested the digest, so that `when` is ignored. */
  readonly isRequested?: boolean;
  /** Further lines and files, such as plans of playbooks. They go with unfiltered digests only. */
  readonly notes?: readonly string[];
  readonly attachments?: readonly Attachment[];
  /** The playbooks, for the next step of each finding. @default none */
  readonly playbooks?: () => Promise<readonly PlaybookSummary[]>;
  /** The sender and the routes. @default those of the configuration, which must name a mail server */
  readonly settings?: Pick<MailSettings, 'sender' | 'routes'>;
  /** Size of the HTML above which lists are shortened. @default 80000 */
  readonly maxHtmlBytes?: number;
}

/** Columns of `queries/mail/counts.sql`. */
type Count = 'current' | 'workspaces' | 'changed' | 'told' | 'changed_sources' | 'pulled_sources' | 'stale_sources';

/** The files of `queries/mail/` whose rows a digest shows. */
const SECTIONS = ['causes', 'stale', 'unassessed', 'oldest', 'deadlines', 'numbers', 'trend', 'attached'] as const;

/** What the warehouse holds for the routes of an audience, compared with the previous digest. */
export type DigestData = Awaited<ReturnType<typeof readDigestData>>;

export async function readDigestData(options: ComposeOptions, audience: Audience) {
  const { database, files, config, job, run, playbooks } = options;
  const asOf = run.asOf.toISOString();
  const query = async (name: string, params: SqlParams) =>
    queryFile(database, `mail/${name}`, files.read(`mail/${name}`), params);
  const [previous] = await query('since', { job: job.name, as_of: asOf });
  const since = typeof previous?.since === 'string' ? previous.since : null;
  const params: SqlParams = {
    ...thresholdParams(config.thresholds),
    as_of: asOf,
    since,
    days: sparklineDays(since, run.asOf),
    targets: JSON.stringify(config.targets.map(({ name, kind }) => ({ name, kind }))),
    routes: JSON.stringify(audience.routes),
    guide: JSON.stringify(await loadGuide(files, (await playbooks?.()) ?? [], config.thresholds)),
  };
  await defineMissing([database], files, config.thresholds);
  for (const part of ['routes', 'workspaces', 'pools', 'findings', 'finding_numbers', 'sources'])
    await query(part, params);
  const limits: Readonly<Record<string, number>> = { causes: MAX_LINES, attached: MAX_ATTACHED };
  const sections: [string, Row[]][] = [];
  const { metrics: read, failed } = await readMetrics(options, (name) => query(name, params));
  const metrics = toJsonParam(read);
  for (const name of SECTIONS) {
    const bounds = { max_rows: limits[name] ?? MAX_OLDEST, max_bytes: MAX_ATTACHED_BYTES };
    sections.push([name, await query(name, { ...params, ...bounds, metrics })]);
  }
  const [counts] = await query('counts', params);
  return {
    ...(Object.fromEntries(sections) as Record<(typeof SECTIONS)[number], Row[]>),
    /** Time of the previous digest; null for the first one. */
    since,
    /** Numbers whose file is wrong, or whose query fails. */
    failed,
    counts: counts as unknown as Readonly<Record<Count, number>> & { readonly targets: readonly string[] },
    changes: await readChanges(options, params),
  };
}

/** What changed in the tables that have versions since the previous digest; nothing in the first one. */
async function readChanges({ database, files }: ComposeOptions, params: SqlParams): Promise<readonly Row[]> {
  if (typeof params.since !== 'string') return [];
  const changes = await renderChangesBetween({ database, files }, { from: params.since, to: String(params.as_of) });
  return queryFile(database, 'mail/changes', files.render('mail/changes', { changes }), params);
}

/** The lines that the header of a metric may have. */
const METRIC_LINES = ['label', 'order', 'report', 'one', 'many', 'subject', 'trend', 'sources'];

/** The header and the row of each file of `queries/mail/metrics/`: those of sources that some target has, whose query returns a row. */
async function readMetrics({ files, config }: ComposeOptions, query: (name: string) => Promise<readonly Row[]>) {
  const leftOut = findLeftOut(config.targets);
  const sources = [...listFilled(loadTables(files).values()), 'all', 'lifecycle'];
  const metrics: Row[] = [];
  let failed = 0;
  for (const name of discoverFiles(files.roots, 'queries/mail/metrics', '.sql').keys()) {
    const file = `mail/metrics/${name}`;
    const sql = files.read(file);
    const header = parseHeader(sql);
    const named = splitList(header.sources);
    if (isAbsent(named, leftOut)) continue;
    try {
      readHeader(file, sql, METRIC_LINES);
      refuseUnknown(file, 'sources', named, sources, 'fills no table');
      const rows = await query(`metrics/${name}`);
      metrics.push(...rows.map((row) => ({ label: name, ...header, ...row })));
    } catch (error) {
      if (classifyStorageError(error) || !(error instanceof TidemarkError)) throw error;
      const { trend: _, ...shown } = header;
      metrics.push({ ...shown, label: error.message, value: null }); // the mail goes, and says so
      failed++;
    }
  }
  return { metrics, failed };
}

const MIN_SPARKLINE_DAYS = 14;
const MAX_SPARKLINE_DAYS = 35;

/** Days that a sparkline covers: two weeks, or four times the interval between digests where that is longer. */
function sparklineDays(since: string | null, asOf: Date): number {
  const days = since === null ? 1 : Math.ceil((asOf.getTime() - Date.parse(since)) / DAY_MS);
  return Math.min(MAX_SPARKLINE_DAYS, Math.max(MIN_SPARKLINE_DAYS, days * 4));
}
