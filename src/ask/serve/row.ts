import { stripControls } from '../../core/log.ts';
import { loadGuide } from '../../tell/findings/guide.ts';
import { EMPTY_CELL, formatTime } from '../../tell/reports/format.ts';
import { createProductLinker } from '../../tell/reports/links.ts';
import { toFindingView, toHistoryEntries } from '../../tell/reports/subject-view.ts';
import { loadSubjectKinds } from '../../tell/reports/subjects.ts';
import { quoteIdent, quoteLiteral } from '../../warehouse/sql-files.ts';
import type { SqlParams } from '../../warehouse/sql-params.ts';
import type { Table } from '../../warehouse/tables.ts';
import type { Row } from '../../warehouse/values.ts';
import { findTable, readSources, rowKey, selectSources } from './catalogue.ts';
import { type Exchange, findSubjectPage, NotFoundError, renderPage, type TextRow } from './page.ts';
import { readRows, shownTime } from './results.ts';

/** Times of the timeline that the page shows. */
const MAX_TIMES = 200;

export async function sendRow(exchange: Exchange): Promise<void> {
  const table = findTable(exchange, exchange.name);
  const key = rowKey(table).map((name) => ({ name, value: exchange.url.searchParams.get(name) ?? '' }));
  if (key.length === 0) throw new NotFoundError(`page of a row of ${table.name}`, 'its rows have no key');
  const params = { as_of: shownTime(exchange).toISOString() };
  const condition = key.map(({ name, value }) => equals(table, name, value)).join(' and ');
  const rows = renderRows(exchange, table, condition);
  const [[row], timeline, sources] = await Promise.all([
    readRows(exchange, rows, params, 1),
    table.source === undefined ? [] : readTimeline(exchange, table, rows, params),
    readSources(exchange),
  ]);
  const keyText = key.map(({ name, value }) => `${name}=${value}`).join(', ');
  if (!row)
    throw new NotFoundError(`row of ${table.name} with ${keyText}`, 'the key is the whole one, as the table shows it');
  const entries = toHistoryEntries(timeline, table.columns);
  const subject = await findSubject(exchange, table, row, condition);
  const goneAt = row.valid_to != null && row.valid_to <= params.as_of ? row.valid_to : '';
  const values = key.map(({ value }) => value).filter(Boolean);
  await renderPage(exchange, 'row', {
    title: stripControls(row[table.changes.name ?? ''] || values.join(' / ')),
    about: `A row of ${table.name}: ${keyText}.`,
    table: table.name,
    finding: table.name === 'findings' ? await viewFinding(exchange, row) : null,
    subjectHref: findSubjectPage(exchange, subject) ?? '',
    product: findProductPage(exchange, subject),
    hasHistory: table.source !== undefined,
    gone: goneAt === '' ? '' : formatTime(goneAt),
    stale: selectSources(sources, table).filter(({ target, state }) => target === row.target && state !== 'fresh'),
    timeline: entries,
    earlier: Number(timeline[0]?.times ?? 0) - entries.length,
    present: table.columns.map(({ name, comment }) => {
      return { name, meaning: comment, value: stripControls(row[name] ?? EMPTY_CELL) };
    }),
  });
}

/** The row with the subject that it names, or that it is. */
async function findSubject(exchange: Exchange, table: Table, row: TextRow, condition: string): Promise<TextRow> {
  if (row.subject_type) return row;
  const kinds = loadSubjectKinds(exchange.files);
  const kind = kinds.find((one) => one.table.name === table.name && one.versions.includes('version.*'));
  if (!kind) return row;
  const parts = { subject: quoteLiteral(kind.type), versions: kind.versions, key: condition };
  const [found = {}] = await readRows(exchange, exchange.files.render('serve/row_subject', parts), {}, 1);
  return { ...row, ...found };
}

/** The page that the product has for the subject that a row names, with the detail of a finding. */
function findProductPage({ config }: Exchange, row: TextRow) {
  const { target, subject_type: type, subject_id: id, subject_name: name = null, detail } = row;
  const fields = detail ? (JSON.parse(detail) as Row) : row;
  const subject = { target: target ?? '', type: type ?? '', id: id ?? '', name, fields };
  const url = createProductLinker(config.targets)(subject);
  return url === undefined ? null : { url, host: new URL(url).host };
}

/** The finding of a row, as the page of its subject has it. */
async function viewFinding({ config, files, playbooks }: Exchange, row: TextRow) {
  const guide = await loadGuide(files, await playbooks(), config.thresholds);
  const detail = JSON.parse(row.detail ?? '{}') as Row;
  return toFindingView({ ...row, detail }, guide);
}

/** The row as SQL: of a table with a history, its versions, the newest first. An absent value of the key is empty in the address. */
function renderRows({ files }: Exchange, table: Table, condition: string): string {
  if (table.source === undefined)
    return files.render('serve/log_row', { table: quoteIdent(table.name), key: condition });
  return files.render('serve/row', { history: quoteIdent(`${table.name}_history`), key: condition });
}

/** An equal value has an equal text, except a time, which has several. */
function equals({ columns }: Table, column: string, value: string): string {
  const { type = 'varchar' } = columns.find(({ name }) => name === column) ?? {};
  if (type.startsWith('timestamp'))
    return `${quoteIdent(column)} is not distinct from try_cast(${quoteLiteral(value)} as ${type})`;
  return `coalesce(${quoteIdent(column)}::varchar, '') = ${quoteLiteral(value)}`;
}

async function readTimeline(exchange: Exchange, table: Table, versions: string, params: SqlParams) {
  const { files } = exchange;
  const timeline = files.render('subjects/timeline', {
    subject: `'row'`,
    versions: files.render('serve/subject_versions', { version: versions }),
    source: `'${table.source}'`,
  });
  const sql = files.render('serve/row_timeline', { version: versions, timeline });
  return readRows(exchange, sql, { ...params, limit: String(MAX_TIMES) }, MAX_TIMES * table.columns.length);
}
