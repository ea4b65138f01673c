import { readRun } from '../../tell/reports/run-page.ts';
import { pageHref, renderPage } from './page.ts';
import { type Exchange, NotFoundError, type PageRoute } from './route.ts';
import { readRows } from './rows.ts';

/** The page of any run that the warehouse has, as the report's page of a run shows it. */
async function sendRun(exchange: Exchange): Promise<void> {
  const { files, name, url } = exchange;
  const [found] = await readRows(exchange, await files.read('serve/run'), { run_id: name }, 1);
  const database = {
    rows: async (sql: string, params: Readonly<Record<string, unknown>> = {}) => {
      const given = Object.entries(params).map(([key, value]) => [key, value === null ? 'infinity' : String(value)]);
      return [...(await readRows(exchange, sql, Object.fromEntries(given)))];
    },
  };
  const run = found && (await readRun({ database, files, asOf: new Date(found.started_at ?? '') }));
  if (!run) throw new NotFoundError(url.pathname, 'the home page lists the last runs');
  await renderPage(exchange, 'run', { title: `Run ${name}`, nightsHref: pageHref(exchange, '/nights'), ...run });
}

export function runHref(exchange: Exchange, runId: string): string {
  return pageHref(exchange, `/runs/${encodeURIComponent(runId)}`);
}

export const runRoute: PageRoute = { pattern: /^\/runs\/([^/]+)$/u, answer: sendRun };
