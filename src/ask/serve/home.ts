import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { formatAge, formatTime } from '../../tell/reports/format.ts';
import { runPath } from '../../tell/reports/run-page.ts';
import { readSources, type SourceFreshness, worstState } from './freshness.ts';
import { pageHref, readPublishedAt, renderPage } from './page.ts';
import type { Exchange, PageRoute } from './route.ts';
import { readRows, shownTime, type TextRow } from './rows.ts';

const MAX_RUNS = 10;

async function sendHome(exchange: Exchange): Promise<void> {
  const at = shownTime(exchange);
  const isPublished = (await readPublishedAt(exchange)) !== '';
  const [sources, runs] = isPublished
    ? await Promise.all([
        readSources(exchange),
        readRows(exchange, await exchange.files.read('reports/runs'), { as_of: at.toISOString() }, MAX_RUNS),
      ])
    : [[], []];
  const targets = summarizeTargets(exchange, sources);
  const state = worstState(targets);
  await renderPage(exchange, 'home', {
    title: 'Tidemark',
    about: 'The estate, its history and its findings. Nothing here changes anything.',
    state,
    headline: describeState(state, isPublished, runs[0], at),
    targets,
    stale: sources.filter(({ state: one }) => one !== 'fresh'),
    runs: runs.map((run) => toRunView(run, exchange.config.output)),
    links: LINKS.map(({ path, ...link }) => ({ ...link, href: pageHref(exchange, path) })),
  });
}

const LINKS = [
  { path: '/reports', label: 'Reports', about: 'What changed, what got worse, and what to do.' },
  { path: '/tables', label: 'Tables', about: 'Every table and column with its meaning, and the history of each row.' },
  { path: '/saved', label: 'Saved queries', about: 'Questions with a form for their parameters.' },
  { path: '/sql', label: 'SQL', about: 'Any query, as a table, a chart or a file.' },
] as const;

/** The targets of the configuration and of the warehouse: one that was never pulled is unknown. */
function summarizeTargets({ config }: Exchange, sources: readonly SourceFreshness[]) {
  const names = new Set([...config.targets.map(({ name }) => name), ...sources.map(({ target }) => target)]);
  return [...names].sort().map((target) => {
    const own = sources.filter((source) => source.target === target);
    return {
      target,
      state: worstState(own),
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

function toRunView({ run_id, job, status, started_at, finished_at, pulls, complete }: TextRow, output: string) {
  const page = runPath(run_id ?? '');
  return {
    run_id,
    href: existsSync(join(output, page)) ? `/reports/${page}` : '',
    job: job ?? '',
    status,
    started: formatTime(started_at ?? ''),
    finished: finished_at === null ? '' : formatTime(finished_at ?? ''),
    pulls: `${complete} of ${pulls}`,
  };
}

export const homeRoute: PageRoute = { pattern: /^\/$/u, answer: sendHome };
