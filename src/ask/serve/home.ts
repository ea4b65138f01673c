import { loadGuide } from '../../tell/findings/guide.ts';
import { formatSince } from '../../tell/reports/lead.ts';
import { loadTables } from '../../warehouse/tables.ts';
import { readSources, staleParams } from './catalogue.ts';
import { readNightChanges } from './nights.ts';
import { pageHref, readPublishedAt, renderPage } from './page.ts';
import { readRows, shownTime, type TextRow, toCount } from './results.ts';
import type { Exchange } from './route.ts';
import { findProductPage, findSubjectPage } from './subject-links.ts';

const MAX_RUNS = 10;
/** Critical findings that the page names. */
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
    estate: estate && { ...estate, state: estate.state === 'ok' && freshness !== 'fresh' ? 'unknown' : estate.state },
    freshness,
    isPublished,
    last: run ? { ...run, age_ms: at.getTime() - Date.parse(run.finished_at ?? run.started_at ?? '') } : null,
    targets,
    stale: sources.filter(({ state }) => state !== 'fresh'),
    runs,
  });
}

/** The targets of the configuration and of the warehouse: one that was never pulled is unknown. */
async function readTargets(exchange: Exchange): Promise<readonly TextRow[]> {
  const { files, config } = exchange;
  const sql = files.render('serve/targets', { sources: files.read('serve/sources') });
  const targets = JSON.stringify(config.targets.map(({ name }) => name));
  return readRows(exchange, sql, { ...staleParams(exchange), targets });
}

/** What is wrong and what changed in the last run, in the numbers of the overview. */
async function readEstate(exchange: Exchange, at: Date) {
  const { files } = exchange;
  const params = { as_of: at.toISOString(), rules: '["all"]' };
  // Both are read first: one that cannot be read would leave a query that nobody waits for.
  const [countsSql, criticalSql] = [files.read('reports/lead/finding_counts'), files.read('serve/critical')];
  const [[counts = {}], critical] = await Promise.all([
    readRows(exchange, countsSql, params, 1),
    readRows(exchange, criticalSql, params, MAX_CRITICAL),
  ]);
  const after = counts.compared_with ?? '';
  const number = (name: string) => Number(counts[name] ?? 0);
  return {
    state: counts.state ?? 'unknown',
    isAssessed: counts.assessed === 'true',
    unassessed: number('unassessed'),
    counts: ['critical', 'warning', 'info'].map((severity) => ({ severity, count: number(severity) })),
    critical: await viewFindings(exchange, critical, at),
    more: number('critical') - critical.length,
    after,
    appeared: number('appeared') + number('returned') + number('unaccepted'),
    resolved: number('resolved'),
    changed: after === '' ? [] : await readChanged(exchange, after, at),
  };
}

async function readChanged(exchange: Exchange, from: string, at: Date) {
  const declared = [...loadTables(exchange.files).values()];
  const rows = await readNightChanges(exchange, declared, { from, to: at.toISOString() }, 'serve/changed');
  return rows.map(({ table, first_at, ...counts }) => ({
    ...{ table, first_at },
    ...Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, toCount(count)])),
  }));
}

/** Each as a line of a report has it: what is wrong, since when, and the next step. */
async function viewFindings(exchange: Exchange, rows: readonly TextRow[], at: Date) {
  const { config, files, playbooks } = exchange;
  const guide = await loadGuide(files, await playbooks(), config.thresholds);
  return rows.map((row) => {
    const { finding_id, title, rule, target, since, change: changes } = row;
    const { repair = '', command = '', about = null } = guide.find((entry) => entry.rule === rule) ?? {};
    const page = pageHref(exchange, '/tables/findings/row', { finding_id: finding_id ?? '' });
    return {
      ...{ severity: 'critical', title, names: [], otherNames: [], unlisted: 0, repair, command, about, changes },
      href: findSubjectPage(exchange, row) ?? page,
      since: `${formatSince(since ?? '', at.getTime())}, in ${target}`,
      product: findProductPage(exchange, row)?.url ?? null,
    };
  });
}
