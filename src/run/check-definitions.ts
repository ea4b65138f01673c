import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Config } from '../config/config.ts';
import { loadJobs } from '../config/job.ts';
import { loadPolicy } from '../config/policy.ts';
import type { Context } from '../core/context.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import { removePaths } from '../core/fs.ts';
import { overlayRoots } from '../core/paths.ts';
import { findImpossible } from '../tell/findings/check-policy.ts';
import { checkRules } from '../tell/findings/evaluate.ts';
import { listReportNames, type RenderOptions, renderReports } from '../tell/reports/index.ts';
import { openDatabase } from '../warehouse/database.ts';
import { migrate } from '../warehouse/migrate.ts';
import { createSqlFiles, type SqlFiles } from '../warehouse/sql-files.ts';
import { loadTables } from '../warehouse/tables.ts';
import { createTemporaryFolder } from '../warehouse/temporary-folder.ts';
import { loadJobDefinitions } from './plugins/index.ts';
import { validateJobs } from './run-job.ts';

/** A job, policy, report, route or rule that a run could not use, and why. */
export interface DefinitionProblem {
  readonly what: 'jobs' | 'policy' | 'reports' | 'routes' | 'rules';
  readonly problem: string;
}

type CheckContext = Pick<Context, 'env' | 'clock'>;

/**
 * Loads every job, route and policy, and runs the SQL and the templates of rules and reports on a warehouse without rows, where the configuration
 * has files that change them: those of the package alone are known to work. Writes nothing.
 */
export async function checkDefinitions(config: Config, context: CheckContext): Promise<readonly DefinitionProblem[]> {
  const files = createSqlFiles(overlayRoots(config.directory));
  return [
    ...(await collect('jobs', () => checkJobs(config, context))),
    ...checkRoutes(config),
    ...(await collect('policy', async () => findImpossible(files, loadPolicy(config.directory)))),
    ...(await checkFiles(config, context, files)),
  ];
}

/** What files of the configuration may break; null stands for every rule or report. */
interface Changed {
  readonly rules: readonly string[] | null;
  readonly reports: readonly string[] | null;
}

const RULE = /^queries.findings.(.+)\.sql$/u;
const REPORT = /^(?:queries.reports.([^\\/]+).|reports.([^\\/]+?)(?:\.txt)?\.hbs$)/u;

/** A file that is neither a rule nor a part of one report may be used by any of them. */
async function findChanged({ directory }: Config, files: SqlFiles): Promise<Changed> {
  const known = listReportNames(files.roots);
  const [rules, reports] = [new Set<string>(), new Set<string>()];
  for (const folder of ['queries', 'reports']) {
    const entries = await readdir(join(directory, folder), { recursive: true, withFileTypes: true }).catch(() => []);
    for (const entry of entries.filter((one) => one.isFile())) {
      const path = relative(directory, join(entry.parentPath, entry.name));
      const rule = RULE.exec(path)?.[1];
      const [, query, page] = REPORT.exec(path) ?? [];
      const report = known.find((name) => name === (query ?? page));
      if (rule !== undefined) rules.add(rule);
      else if (report !== undefined) reports.add(report);
      else return { rules: null, reports: null };
    }
  }
  return { rules: [...rules], reports: [...reports] };
}

async function checkFiles(
  config: Config,
  context: CheckContext,
  files: SqlFiles,
): Promise<readonly DefinitionProblem[]> {
  const changed = await findChanged(config, files);
  if (changed.rules?.length === 0 && changed.reports?.length === 0) return [];
  const database = await openDatabase(':memory:');
  try {
    await migrate(database, files, loadTables(files));
    const { thresholds, targets } = config;
    const state = { database, files, asOf: context.clock.now(), thresholds };
    const rules = await checkRules({ ...state, targets }, changed.rules);
    return [
      ...rules.map(({ rule, error }) => ({ what: 'rules', problem: `${rule}: ${error}` }) as const),
      ...(await collect('reports', () => checkReports(config, state, changed.reports))),
    ];
  } finally {
    database.close();
  }
}

/** What a check returns, or the lines of the error that it throws. */
async function collect(
  what: DefinitionProblem['what'],
  check: () => Promise<readonly string[]>,
): Promise<readonly DefinitionProblem[]> {
  const problems = await check().catch((error: unknown) => {
    if (!(error instanceof TidemarkError)) throw error;
    return error.message.includes('\n') ? error.message.split('\n') : [formatError(error)];
  });
  return problems.map((problem) => ({ what, problem }));
}

async function checkJobs(config: Config, { env }: CheckContext): Promise<readonly string[]> {
  const jobs = [...(await loadJobs(config, env)).values()];
  await validateJobs(config, jobs, await loadJobDefinitions(config, jobs));
  return [];
}

/** A route of a target that is not configured gets no mail. */
function checkRoutes({ mail, targets }: Config): readonly DefinitionProblem[] {
  return (mail?.routes ?? []).flatMap((route, index) =>
    (route.targets ?? [])
      .filter((name) => !targets.some((target) => target.name === name))
      .map(
        (name) => ({ what: 'routes', problem: `mail.routes[${index}].targets: there is no target ${name}` }) as const,
      ),
  );
}

async function checkReports(
  { reportDays }: Config,
  state: Pick<RenderOptions, 'database' | 'files' | 'asOf' | 'thresholds'>,
  names: Changed['reports'],
): Promise<readonly string[]> {
  if (names?.length === 0) return [];
  const problems: string[] = [];
  const out = await createTemporaryFolder();
  try {
    await renderReports({
      ...state,
      roots: state.files.roots,
      ...(names && { names }),
      generatedAt: state.asOf,
      out,
      archive: false,
      reportDays,
      log: { info: () => {}, warn: () => {}, error: () => {} },
      onFailure: (name, error) => problems.push(`${name}: ${formatError(error)}`),
    });
  } finally {
    await removePaths([out]);
  }
  return problems;
}
