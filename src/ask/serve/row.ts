import { EMPTY_CELL, formatTime } from '../../tell/reports/format.ts';
import { toHistoryEntries } from '../../tell/reports/subject-view.ts';
import { quoteIdent } from '../../warehouse/sql-files.ts';
import type { Table } from '../../warehouse/tables.ts';
import { findTable, freshnessByTarget, rowKey } from './catalogue.ts';
import { readSources } from './freshness.ts';
import { pageHref, renderPage } from './page.ts';
import { type Exchange, NotFoundError, type PageRoute } from './route.ts';
import { readRows, shownTime, type TextRow } from './rows.ts';

/** Times of the timeline that the page shows. */
const MAX_TIMES = 200;

async function sendRow(exchange: Exchange): Promise<void> {
  const table = await findTable(exchange, exchange.name);
  if (!table.source) throw new NotFoundError(`history of ${table.name}`, 'only tables that a source fills have one');
  const key = rowKey(table).map((name) => ({ name, value: exchange.url.searchParams.get(name) ?? '' }));
  const { versions, params } = await renderVersions(
    exchange,
    table,
    key.map(({ value }) => value),
  );
  const [[version], timeline, sources] = await Promise.all([
    readRows(exchange, versions, params, 1),
    readTimeline(exchange, table, versions, params),
    readSources(exchange),
  ]);
  if (!version) {
    const text = key.map(({ name, value }) => `${name}=${value}`).join(', ');
    throw new NotFoundError(`row of ${table.name} with ${text}`, 'the key is the whole one, as the table shows it');
  }
  const entries = toHistoryEntries(timeline, table.columns);
  const goneAt =
    version.valid_to != null && version.valid_to <= shownTime(exchange).toISOString() ? version.valid_to : '';
  await renderPage(exchange, 'row', {
    title: key
      .map(({ value }) => value)
      .filter(Boolean)
      .join(' / '),
    about: `A row of ${table.name} and all that changed in it.`,
    table: { name: table.name, href: pageHref(exchange, `/tables/${encodeURIComponent(table.name)}`) },
    gone: goneAt === '' ? '' : formatTime(goneAt),
    stale: freshnessByTarget(sources, table).filter(
      ({ target, state }) => target === version.target && state !== 'fresh',
    ),
    timeline: entries,
    earlier: Number(timeline[0]?.times ?? 0) - entries.length,
    present: table.columns.map(({ name, comment }) => ({ name, meaning: comment, value: version[name] ?? EMPTY_CELL })),
  });
}

/** The versions of a row as SQL. An absent value of the key is empty in the address. */
async function renderVersions(exchange: Exchange, table: Table, values: readonly string[]) {
  const [target = '', ...others] = values;
  const columns = rowKey(table).slice(1);
  const conditions = columns.map((name, index) => `coalesce(${quoteIdent(name)}::varchar, '') = $key_${index}`);
  const versions = await exchange.files.render('serve/row', {
    history: quoteIdent(`${table.name}_history`),
    key: conditions.length > 0 ? conditions.join(' and ') : 'true',
  });
  return {
    versions,
    params: {
      target,
      as_of: shownTime(exchange).toISOString(),
      ...Object.fromEntries(others.map((value, index) => [`key_${index}`, value])),
    },
  };
}

async function readTimeline(
  exchange: Exchange,
  table: Table,
  versions: string,
  params: Readonly<Record<string, string>>,
): Promise<readonly TextRow[]> {
  const { files } = exchange;
  const timeline = await files.render('subjects/timeline', {
    subject: `'row'`,
    versions: await files.render('serve/subject_versions', { version: versions }),
    source: `'${table.source}'`,
  });
  const sql = await files.render('serve/row_timeline', { version: versions, timeline });
  return readRows(exchange, sql, { ...params, limit: String(MAX_TIMES) }, MAX_TIMES * table.columns.length);
}

export const rowRoute: PageRoute = { pattern: /^\/tables\/([^/]+)\/row$/u, answer: sendRow };
