import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { readJobs } from '../config/job.ts';
import { loadPolicy } from '../config/policy.ts';
import type { Context } from '../core/context.ts';
import { formatError } from '../core/errors.ts';
import { removePaths } from '../core/fs.ts';
import { overlayRoots } from '../core/paths.ts';
import { findImpossible } from '../tell/findings/check-policy.ts';
import { checkRules } from '../tell/findings/evaluate.ts';
import { renderReports } from '../tell/reports/index.ts';
import { type Database, withMemory } from '../warehouse/database.ts';
import { migrate } from '../warehouse/migrate.ts';
import { createSqlFiles, type SqlFiles } from '../warehouse/sql-files.ts';
import { createTemporaryFolder } from '../warehouse/temporary-folder.ts';
import { loadJobDefinitions } from './plugins/index.ts';
import { listJobProblems, listProblems } from './run-job.ts';

type CheckContext = Pick<Context, 'env' | 'clock'>;

/**
 * Loads every job, route and policy, and runs the SQL and the templates of rules and reports on a warehouse without rows, where the configuration
 * has files that change them: those of the package alone are known to work. Writes nothing.
 */
export async function checkDefinitions(config: Config, context: CheckContext) {
  const files = createSqlFiles(overlayRoots(config.directory));
  return [
    ...(await collect('jobs', () => checkJobs(config, context))),
    ...(await collect('routes', () => checkRoutes(config))),
    ...(await collect('policy', () => findImpossible(files, loadPolicy(config.directory)))),
    ...(await checkFiles(config, context, files)),
  ];
}

async function checkJobs(config: Config, { env }: CheckContext): Promise<readonly string[]> {
  const { jobs, problems } = readJobs(config, env);
  const definitions = await loadJobDefinitions(config, jobs);
  const found = await Promise.all(jobs.map((job) => listJobProblems(config, job, definitions)));
  return [...new Set([...problems, ...found.flat()])];
}

async function checkFiles(config: Config, { clock }: CheckContext, files: SqlFiles) {
  if (!['queries', 'reports'].some((folder) => existsSync(join(config.directory, folder)))) return [];
  const out = await createTemporaryFolder();
  const check = async (database: Database) => {
    await migrate(database, files);
    const state = { ...config, database, files, asOf: clock.now() };
    const rules = await checkRules(state);
    const render = async () => {
      const failed: string[] = [];
      await renderReports({
        ...state,
        generatedAt: state.asOf,
        out,
        archive: false,
        log: { info: () => {}, warn: () => {}, error: () => {} },
        onFailure: (name, error) => failed.push(`${name}: ${formatError(error)}`),
      });
      return failed;
    };
    return [
      ...(await collect('rules', () => rules.map(({ rule, error }) => `${rule}: ${error}`))),
      ...(await collect('reports', render)),
    ];
  };
  return withMemory(check).finally(() => removePaths([out]));
}

/** Jobs, policies, reports, routes or rules that a run could not use, and why. */
async function collect(what: 'jobs' | 'policy' | 'reports' | 'routes' | 'rules', check: () => unknown) {
  return (await listProblems(check)).map((problem) => ({ what, problem }));
}

/** A route of a target that is not configured gets no mail. */
function checkRoutes({ mail, targets }: Config): readonly string[] {
  return (mail?.routes ?? []).flatMap((route, index) =>
    (route.targets ?? [])
      .filter((name) => !targets.some((target) => target.name === name))
      .map((name) => `mail.routes[${index}].targets: there is no target ${name}`),
  );
}
