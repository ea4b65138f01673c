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
import { listReportNames, renderReports } from '../tell/reports/index.ts';
import { type Database, openDatabase } from '../warehouse/database.ts';
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
  return [
    ...(await collect('jobs', () => checkJobs(config, context))),
    ...checkRoutes(config),
    ...(await collect('policy', () => checkPolicy(config))),
    ...(await checkFiles(config, context)),
  ];
}

/** What files of the configuration may break; null stands for every rule or report. */
interface Changed {
  readonly rules: readonly string[] | null;
  readonly reports: readonly string[] | null;
}

/** A file that is neither a rule nor a part of one report may be used by any of them. */
async function findChanged({ directory }: Config, files: SqlFiles): Promise<Changed> {
  const paths = await Promise.all(
    ['queries', 'reports'].map(async (folder) => {
      const below = await readdir(join(directory, folder), { recursive: true, withFileTypes: true }).catch(() => []);
      return below.flatMap((entry) =>
        entry.isFile() ? [relative(directory, join(entry.parentPath, entry.name))] : [],
      );
    }),
  );
  const known = await listReportNames(files.roots);
  const owners = paths.flat().map((path) => {
    const [, rule] = /^queries.findings.(.+)\.sql$/u.exec(path) ?? [];
    const [, query, page] = /^(?:queries.reports.([^\\/]+).|reports.([^\\/]+?)(?:\.txt)?\.hbs$)/u.exec(path) ?? [];
    return { rule, report: known.find((name) => name === (query ?? page)) };
  });
  if (owners.some(({ rule, report }) => rule === undefined && report === undefined))
    return { rules: null, reports: null };
  return {
    rules: owners.flatMap(({ rule }) => rule ?? []),
    reports: [...new Set(owners.flatMap(({ report }) => report ?? []))],
  };
}

async function checkFiles(config: Config, context: CheckContext): Promise<readonly DefinitionProblem[]> {
  const files = createSqlFiles(overlayRoots(config.directory));
  const { rules: ruleNames, reports: names } = await findChanged(config, files);
  if (ruleNames?.length === 0 && names?.length === 0) return [];
  const database = await openDatabase(':memory:');
  try {
    await migrate(database, files, await loadTables(files));
    const options = { database, files, asOf: context.clock.now(), thresholds: config.thresholds };
    const rules = await checkRules({ ...options, targets: config.targets }, ruleNames);
    return [
      ...rules.map(({ rule, error }) => ({ what: 'rules', problem: `${rule}: ${error}` }) as const),
      ...(await collect('reports', () => checkReports(config, context, { database, files, names }))),
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
  const jobs = [...(await loadJobs(config, env)).values()].filter(({ schedule }) => schedule !== undefined);
  await validateJobs(config, jobs, await loadJobDefinitions(config, jobs));
  return [];
}

async function checkPolicy({ directory }: Config): Promise<readonly string[]> {
  return findImpossible(createSqlFiles(overlayRoots(directory)), loadPolicy(directory));
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
  config: Config,
  { clock }: CheckContext,
  {
    database,
    files,
    names,
  }: { readonly database: Database; readonly files: SqlFiles; readonly names: Changed['reports'] },
): Promise<readonly string[]> {
  if (names?.length === 0) return [];
  const problems: string[] = [];
  const out = await createTemporaryFolder();
  const now = clock.now();
  try {
    await renderReports({
      database,
      files,
      roots: files.roots,
      ...(names && { names }),
      asOf: now,
      generatedAt: now,
      thresholds: config.thresholds,
      out,
      archive: false,
      reportDays: config.reportDays,
      log: { info: () => {}, warn: () => {}, error: () => {} },
      onFailure: (name, error) => problems.push(`${name}: ${formatError(error)}`),
    });
  } finally {
    await removePaths([out]);
  }
  return problems;
}
