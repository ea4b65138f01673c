import { formatAge, formatTime } from '../../tell/reports/format.ts';
import { formatSince } from '../../tell/reports/lead.ts';
import { renderChanges, selectChanged, selectPresent } from '../../warehouse/changes.ts';
import { quoteLiteral } from '../../warehouse/sql-files.ts';
import { loadTables } from '../../warehouse/tables.ts';
import { readSources, type SourceFreshness, worstState } from './freshness.ts';
import { pageHref, readPublishedAt, renderPage } from './page.ts';
import { findSubjectPage } from './reports.ts';
import type { Exchange, PageRoute } from './route.ts';
import { readRows, shownTime, type TextRow } from './rows.ts';
import { runHref } from './run.ts';

const MAX_RUNS = 10;
/** Critical findings that the page names. */
const MAX_CRITICAL = 20;

async function sendHome(exchange: Exchange): Promise<void> {
  const at = shownTime(exchange);
  const isPublished = (await readPublishedAt(exchange)) !== '';
  const [sources, runs, estate] = isPublished
    ? await Promise.all([
        readSources(exchange),
        readRows(exchange, await exchange.files.read('reports/runs'), { as_of: at.toISOString() }, MAX_RUNS),
        readEstate(exchange, at),
      ])
    : [[], [], null];
  const targets = summarizeTargets(exchange, sources);
  const freshness = worstState(targets);
  await renderPage(exchange, 'home', {
    title: 'Tidemark',
    estate: estate && { ...estate, state: estate.state === 'ok' && freshness !== 'fresh' ? 'unknown' : estate.state },
    freshness,
    headline: describeState(freshness, isPublished, runs[0], at),
    targets,
    stale: sources.filter(({ state }) => state !== 'fresh'),
    runs: runs.map((run) => viewRun(exchange, run)),
    links: LINKS.map(({ path, ...link }) => ({ ...link, href: pageHref(exchange, path) })),
  });
}

const LINKS = [
  { path: '/reports', label: 'Reports', about: 'What is wrong, who is affected, and what to do.' },
  { path: '/nights', label: 'Nights', about: 'What changed, night by night, and who changed it.' },
  { path: '/tables', label: 'Tables', about: 'Every table and column with its meaning, and the history of each row.' },
  { path: '/saved', label: 'Saved queries', about: 'Questions with a form for their parameters.' },
  { path: '/sql', label: 'SQL', about: 'Any query, as a table, a chart or a file.' },
] as const;

/** What is wrong and what changed in the last run, in the numbers of the overview. */
async function readEstate(exchange: Exchange, at: Date) {
  const { files } = exchange;
  const params = { as_of: at.toISOString(), rules: '["all"]' };
  const [[counts = {}], critical] = await Promise.all([
    readRows(exchange, await files.read('reports/lead/finding_counts'), params, 1),
    readRows(exchange, await files.read('serve/critical'), params, MAX_CRITICAL),
  ]);
  const after = counts.compared_with ?? '';
  const number = (name: string) => Number(counts[name] ?? 0);
  return {
    state: counts.state ?? 'unknown',
    isAssessed: counts.assessed === 'true',
    unassessed: number('unassessed'),
    counts: ['critical', 'warning', 'info'].map((severity) => ({
      severity,
      count: number(severity),
      href: pageHref(exchange, '/tables/findings', openFindings(severity)),
    })),
    critical: await Promise.all(critical.map((row) => viewFinding(exchange, row, at))),
    more: number('critical') - critical.length,
    since: after === '' ? '' : formatTime(after),
    appeared: number('appeared') + number('returned') + number('unaccepted'),
    resolved: number('resolved'),
    eventsHref: pageHref(exchange, '/tables/finding_events', [['changed_at__gte', after]]),
    changed: after === '' ? [] : await readChanged(exchange, after, at),
  };
}

const openFindings = (severity: string) =>
  [
    ['severity__exact', severity],
    ['state__not', 'resolved'],
    ['state__not', 'accepted'],
  ] as const;

async function viewFinding(exchange: Exchange, row: TextRow, at: Date) {
  const { finding_id, title, rule, target, since, change } = row;
  const own = pageHref(exchange, '/tables/findings/row', { finding_id: finding_id ?? '' });
  const href = (await findSubjectPage(exchange, row)) ?? own;
  return { title, rule, target, since: formatSince(since ?? '', at.getTime()), change: change ?? '', href };
}

/** What changed after the previous run, by table. To plan `changes` for every table takes longer than the rest of the page. */
async function readChanged(exchange: Exchange, from: string, at: Date) {
  const { files } = exchange;
  const database = { script: (sql: string) => readRows(exchange, sql).then((rows) => [...rows]) };
  const times = { from, to: at.toISOString() };
  const declared = [...(await loadTables(files)).values()];
  const changed = await selectChanged({ database, files }, await selectPresent({ database, files }, declared), times);
  if (changed.length === 0) return [];
  const changes = await renderChanges(files, changed);
  const parts = { changes, after: quoteLiteral(times.from), until: quoteLiteral(times.to) };
  const rows = await readRows(exchange, await files.render('serve/changed', parts));
  return rows.map(({ table, first_at, ...counts }) => ({
    name: table,
    ...counts,
    href: pageHref(exchange, '/tables/changes', [
      ['table__exact', table ?? ''],
      ['at__gte', first_at ?? ''],
    ]),
  }));
}

/** The targets of the configuration and of the warehouse: one that was never pulled is unknown. */
function summarizeTargets({ config }: Exchange, sources: readonly SourceFreshness[]) {
  const names = new Set([...config.targets.map(({ name }) => name), ...sources.map(({ target }) => target)]);
  return [...names].sort().map((target) => {
    const own = sources.filter((source) => source.target === target);
    return {
      target,
      state: worstState(own),
      age: own.filter(({ age }) => age !== '').sort((a, b) => (a.asOf < b.asOf ? -1 : 1))[0]?.age ?? '',
      fresh: own.filter(({ state }) => state === 'fresh').length,
      sources: own.length,
    };
  });
}

function describeState(state: string, isPublished: boolean, run: TextRow | undefined, at: Date): string {
  if (!isPublished) return 'Nothing is published yet: the first run of a job publishes.';
  if (!run) return 'There was no run at this time.';
  const { job, status, started_at, finished_at } = run;
  const time = finished_at ?? started_at ?? '';
  const last = `The last run${job === null ? '' : `, ${job},`} ${finished_at === null ? 'started' : 'ended'} ${formatAge(at.getTime() - Date.parse(time))} ago and is ${status}.`;
  const data = { fresh: 'All data is fresh.', stale: 'Some data is stale.', unknown: 'Some data is unknown.' }[state];
  return `${data} ${last}`;
}

function viewRun(exchange: Exchange, { run_id, job, status, started_at, finished_at, pulls, complete }: TextRow) {
  return {
    run_id,
    href: runHref(exchange, run_id ?? ''),
    job: job ?? '',
    status,
    started: formatTime(started_at ?? ''),
    finished: finished_at === null ? '' : formatTime(finished_at ?? ''),
    pulls: `${complete} of ${pulls}`,
  };
}

export const homeRoute: PageRoute = { pattern: /^\/$/u, answer: sendHome };
