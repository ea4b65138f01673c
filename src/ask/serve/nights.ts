import { parseTimestamp } from '../../core/clock.ts';
import { TidemarkError } from '../../core/errors.ts';
import { cleanTexts } from '../../tell/reports/format.ts';
import { findRun, viewRun } from '../../tell/reports/run-page.ts';
import { loadSubjectKinds } from '../../tell/reports/subjects.ts';
import { renderChanges, rowParts, selectChanged, selectTold, type Times } from '../../warehouse/changes.ts';
import { readHistoryStart } from '../../warehouse/moment.ts';
import { quoteLiteral } from '../../warehouse/sql-files.ts';
import type { SqlParams } from '../../warehouse/sql-params.ts';
import { loadTables, selectPresent, type Table } from '../../warehouse/tables.ts';
import type { Exchange, TextRow } from './page.ts';
import { findSubjectPage, NotFoundError, pageHref, readPublishedAt, renderPage } from './page.ts';
import { readRows, shownTime } from './results.ts';

const MAX_NIGHTS = 7;
/** Changed rows of a night that the page names. */
const MAX_ROWS = 20;
const MAX_COLUMNS = 6;

/** What the address asks for; empty for all. */
const FILTERS = ['table', 'target', 'project', 'subject', 'by'] as const;
type Filters = Readonly<Record<(typeof FILTERS)[number], string>>;

export async function sendNights(exchange: Exchange): Promise<void> {
  const { files, url } = exchange;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, url.searchParams.get(name) ?? ''])) as Filters;
  const declared = selectTold([...loadTables(files).values()]);
  const names = declared.map(({ name }) => name).sort();
  if (filters.table !== '' && !names.includes(filters.table)) {
    throw new TidemarkError('USAGE', `no changes of a table ${filters.table} are told`, {
      hint: 'choose one of the list',
    });
  }
  if (!['', 'plan', 'others'].includes(filters.by)) {
    throw new TidemarkError('USAGE', `by=${filters.by} is not plan or others`);
  }
  const isPublished = (await readPublishedAt(exchange)) !== '';
  const runs = isPublished ? await readNights(exchange) : [];
  const shown = runs.slice(0, MAX_NIGHTS);
  const rows = shown.length > 0 ? await readChanges(exchange, declared, filters, runs) : [];
  await renderPage(exchange, 'nights', {
    title: 'Night by night',
    about:
      'What each pull saw change, row by row. The first pull of a source is no change: nothing is known of the time before.',
    path: url.pathname,
    filters,
    tables: names,
    targets: exchange.config.targets.map(({ name }) => name),
    isNarrowed: FILTERS.some((name) => filters[name] !== ''),
    nights: shown.map((run) => viewNight(exchange, run, rows)),
    isPast: url.searchParams.has('until'),
    until: runs.length > MAX_NIGHTS ? shown.at(-1)?.previous : '',
  });
}

/** A run, with the time of the one before it. */
type Night = TextRow & { readonly previous: string };

/** One more than the page shows, where there are more. */
async function readNights(exchange: Exchange): Promise<readonly Night[]> {
  const given = exchange.url.searchParams.get('until') ?? '';
  const until = given === '' ? shownTime(exchange) : parseTimestamp(given);
  if (!until)
    throw new TidemarkError('USAGE', `until=${given} is not a time`, { hint: 'such as 2026-11-20T02:15:00Z' });
  const since = (await readHistoryStart((sql) => readRows(exchange, sql), exchange.files)) ?? '-infinity';
  const params = { since, until: until.toISOString(), limit: String(MAX_NIGHTS + 1) };
  const rows = await readRows(exchange, exchange.files.read('serve/nights'), params);
  return rows.map((row, index) => ({ ...row, previous: rows[index + 1]?.as_of ?? '' }));
}

async function readChanges(exchange: Exchange, declared: readonly Table[], filters: Filters, nights: readonly Night[]) {
  const wanted = declared.filter(({ name }) => filters.table === '' || name === filters.table);
  const times = { from: nights[MAX_NIGHTS]?.as_of ?? '-infinity', to: nights[0]?.as_of ?? '' };
  const found = await findChanges(exchange, wanted, times);
  if (!found) return [];
  const sql = exchange.files.render('serve/night_changes', {
    ...found.parts,
    subjects: renderSubjects(exchange, found.tables, times.from),
    limit: String(MAX_ROWS),
    columns: String(MAX_COLUMNS),
  });
  return readRows(exchange, sql, filters);
}

/** The tables that changed in a time, and what a query over these changes is rendered with: to plan every table takes longer than the page. */
export async function findChanges(exchange: Exchange, declared: readonly Table[], times: Times) {
  const { files } = exchange;
  const database = createStatements(exchange);
  const tables = await selectChanged({ database, files }, await selectPresent({ database, files }, declared), times);
  if (tables.length === 0) return undefined;
  const [after, until] = [quoteLiteral(times.from), quoteLiteral(times.to)];
  return { tables, parts: { changes: renderChanges(files, tables), after, until } };
}

/** The subjects that rows of the tables are. */
function renderSubjects({ files }: Exchange, tables: readonly Table[], from: string): string {
  const kinds = loadSubjectKinds(files).filter(({ versions }) => versions.includes('version.*'));
  const queries = kinds.flatMap(({ table: { name }, type, versions }) => {
    const table = tables.find((one) => one.name === name);
    if (!table) return [];
    const parts = { subject: quoteLiteral(type), versions, after: quoteLiteral(from) };
    return files.render('serve/night_subjects', { ...rowParts(table), ...parts });
  });
  if (queries.length === 0) return files.read('serve/no_subjects');
  return queries.join('\nunion all\n');
}

function viewNight(exchange: Exchange, run: Night, rows: readonly TextRow[]) {
  const own = rows.filter(({ at }) => at === run.as_of);
  const total = Number(own[0]?.night_total ?? 0);
  return {
    ...run,
    status: run.status ?? '',
    isFirst: run.previous === '',
    gaps: JSON.parse(run.gaps ?? 'null') ?? [],
    total,
    rows: own.map((row) => viewChange(exchange, row)),
    more: total - own.length,
  };
}

function viewChange(exchange: Exchange, row: TextRow) {
  const columns = JSON.parse(row.columns ?? '[]') as readonly Readonly<
    Record<'column' | 'old' | 'new', string | null>
  >[];
  const [first] = columns;
  const isWhole = first?.column == null;
  const table = row.table ?? '';
  return {
    ...cleanTexts({ ...row, name: row.name || (row.key ?? ''), earlier: isWhole ? (first?.old ?? '') : '' }),
    href: findSubjectPage(exchange, row) ?? pageHref(exchange, '/nights', { table, subject: row.key ?? '' }),
    columns: isWhole ? [] : columns.map(cleanTexts),
    more: isWhole ? 0 : Number(row.column_count) - columns.length,
  };
}

/** Statements as the warehouse has them, whose values are texts here. */
function createStatements(exchange: Exchange) {
  const rows = async (sql: string, params?: SqlParams) => [...(await readRows(exchange, sql, params))];
  return { script: rows, rows };
}

/** The page of any run that the warehouse has, as the report's page of a run shows it. */
export async function sendRun(exchange: Exchange): Promise<void> {
  const { files, name, url } = exchange;
  const [found] = await readRows(exchange, files.read('serve/run'), { run_id: name }, 1);
  const options = { database: createStatements(exchange), files, asOf: new Date(found?.started_at ?? '') };
  const run = found && (await findRun(options));
  if (!run) throw new NotFoundError(url.pathname, 'the home page lists the last runs');
  const view = await viewRun(options, run);
  await renderPage(exchange, 'run', { title: `Run of ${view.run.started_at}`, about: name, ...view });
}
