import { loadGuide } from '../../tell/findings/guide.ts';
import { toLeadLine } from '../../tell/reports/lead.ts';
import { createProductLinker } from '../../tell/reports/links.ts';
import { groupOutages } from '../../tell/reports/renderer.ts';
import { loadTables } from '../../warehouse/tables.ts';
import { MAX_SOURCES, readSources, staleParams } from './catalogue.ts';
import { findChanges } from './nights.ts';
import { type Exchange, findSubjectPage, pageHref, readPublishedAt, renderPage, type TextRow } from './page.ts';
import { readRows, shownTime, toCount } from './results.ts';

const MAX_RUNS = 10;
const MAX_CRITICAL = 20;

export async function sendHome(exchange: Exchange): Promise<void> {
  const at = shownTime(exchange);
  const isPublished = (await readPublishedAt(exchange)) !== '';
  const [runs, sources, targets, estate] = isPublished
    ? await Promise.all([
        readRows(exchange, exchange.files.read('reports/runs'), { as_of: at.toISOString() }, MAX_RUNS),
        readSources(exchange),
        readTargets(exchange),
        readEstate(exchange, at),
      ])
    : [
        [],
        [],
        exchange.config.targets.map(({ name: target }) => ({ target, state: 'unknown', age_ms: null, sources: 0 })),
        null,
      ];
  const freshness =
    ['unknown', 'stale', 'fresh'].find((state) => targets.some((one) => one.state === state)) ?? 'unknown';
  const [run] = runs;
  await renderPage(exchange, 'home', {
    title: 'Tidemark',
    estate: estate && {
      ...estate,
      isKnown: estate.isKnown && freshness === 'fresh',
      state: estate.state === 'ok' && freshness !== 'fresh' ? 'unknown' : estate.state,
    },
    freshness,
    isPublished,
    last: run ? { ...run, age_ms: at.getTime() - Date.parse(run.finished_at ?? run.started_at ?? '') } : null,
    targets,
    ...groupOutages(sources.filter(({ state }) => state !== 'fresh')),
    runs,
  });
}

/** The targets of the configuration and of the warehouse: one that was never pulled is unknown. */
async function readTargets(exchange: Exchange): Promise<readonly TextRow[]> {
  const { files, config } = exchange;
  const sql = files.render('serve/targets', { sources: files.read('serve/sources') });
  const targets = JSON.stringify(config.targets.map(({ name }) => name));
  return readRows(exchange, sql, { ...staleParams(exchange), targets }, MAX_SOURCES);
}

/** What is wrong and what changed in the last run, in the numbers of the overview. */
async function readEstate(exchange: Exchange, at: Date) {
  const { files, playbooks, config } = exchange;
  const guide = JSON.stringify(await loadGuide(files, await playbooks(), config.thresholds));
  const params = { as_of: at.toISOString(), rules: '["all"]', guide };
  // Both are read first: one that cannot be read would leave a query that nobody waits for.
  const [countsSql, openSql] = [files.read('reports/lead/finding_counts'), files.read('reports/lead/open_findings')];
  const [[counts = {}], open] = await Promise.all([
    readRows(exchange, countsSql, params, 1),
    // The critical ones come first. All lines of a large estate are more than a page holds.
    readRows(exchange, openSql, params, MAX_CRITICAL),
  ]);
  const critical = open.filter(({ severity }) => severity === 'critical');
  const after = counts.compared_with ?? '';
  const number = (name: string) => Number(counts[name] ?? 0);
  return {
    state: counts.state ?? 'unknown',
    isKnown: counts.is_known === 'true',
    unassessed: number('unassessed'),
    counts: ['critical', 'warning', 'info'].map((severity) => ({ severity, count: number(severity) })),
    critical: critical.map((row) => viewLine(exchange, row, at)),
    more: critical.reduce((left, { findings }) => left - Number(findings), number('critical')),
    after,
    appeared: number('appeared') + number('returned') + number('unaccepted'),
    worse: number('worse'),
    resolved: number('resolved'),
    deleted: number('deleted'),
    changedFrom: counts.first_change_at ?? '',
    changed: after === '' ? [] : await readChanged(exchange, after, at),
  };
}

async function readChanged(exchange: Exchange, from: string, at: Date) {
  const declared = [...loadTables(exchange.files).values()];
  const found = await findChanges(exchange, declared, { from, to: at.toISOString() });
  const rows = found ? await readRows(exchange, exchange.files.render('serve/changed', found.parts)) : [];
  return rows.map(({ table, first_at, ...counts }) => ({
    ...{ table, first_at },
    ...Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, toCount(count)])),
  }));
}

/** A line as the overview has it, with a link to the findings where their subject has no page. */
function viewLine(exchange: Exchange, row: TextRow, at: Date) {
  const line = toLeadLine({ ...row, who: JSON.parse(row.who ?? '[]') }, at.getTime(), {
    linkSubject: ({ target, type, id }) => findSubjectPage(exchange, { target, subject_type: type, subject_id: id }),
    linkProduct: createProductLinker(exchange.config.targets),
  });
  const filters = { rule__exact: row.rule ?? '', target__exact: row.target ?? '', severity__exact: 'critical' };
  const findings = pageHref(exchange, '/tables/findings?state__not=resolved&state__not=accepted', filters);
  return { ...line, href: line.href ?? findings };
}
