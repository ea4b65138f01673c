import type { Thresholds } from '../core/config.ts';
import { type Database, firstLine, type SqlParams } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import { type InvalidRule, type Rule, readRules } from './rules.ts';

export interface EvaluateOptions {
  /** The working warehouse, outside of any transaction. */
  readonly database: Database;
  readonly files: SqlFiles;
  /** The run's moment: what `pulls.as_of` says of the pulls that this evaluation may rely on. */
  readonly asOf: Date;
  readonly thresholds: Thresholds;
  /** Names of the configured targets: others are no longer called stale. @default all that were ever pulled */
  readonly targets?: readonly string[];
}

/** What an evaluation changed, in findings. */
export interface FindingsSummary {
  /** Of rules and targets assessed for the first time: open, but no news. */
  readonly baseline: number;
  readonly found: number;
  readonly reopened: number;
  /** Accepted ones whose acceptance ended, or that got worse. */
  readonly returned: number;
  readonly resolved: number;
  /** Kept, since nothing complete tells whether they still hold. */
  readonly unassessed: number;
  /** New or open after it. */
  readonly standing: number;
  readonly accepted: number;
  /** Rules that could not be asked; their findings are kept. */
  readonly failed: readonly InvalidRule[];
}

/**
 * Asks every rule of `queries/findings/` and carries each finding's life on: new, open, resolved, reopened, accepted. The rules
 * are asked first, into temporary tables; the lives are then written in one transaction. The same run again changes nothing.
 */
export async function evaluateFindings(options: EvaluateOptions): Promise<FindingsSummary> {
  const { database, files, asOf } = options;
  const moment = { as_of: asOf.toISOString() };
  const run = async (name: string, params: SqlParams = {}) =>
    database.run(await files.read(`warehouse/${name}`), params);

  const failed = await evaluateRules(options, run);
  return database.transaction(async () => {
    await run('find_assessed', moment);
    await run('find_life', moment);
    await run('find_merge');
    await run('find_events', moment);
    await run('find_assessments', moment);
    const [summary] = await database.rows(await files.read('warehouse/find_summary'));
    return { ...(summary as unknown as Omit<FindingsSummary, 'failed'>), failed };
  });
}

type Run = (name: string, params?: SqlParams) => Promise<void>;

/** Asks every rule; a wrong one of a user's own is told and must not take the others down. */
async function evaluateRules(options: EvaluateOptions, run: Run): Promise<readonly InvalidRule[]> {
  const { database, files } = options;
  for (const macro of ['semver_key', 'iso_time']) {
    await database.run(await files.render(`warehouse/${macro}`, { kind: 'temp macro' }));
  }
  await run('find_found');
  const { rules, refused } = await readRules(files);
  const params = ruleParams(options);
  const errors = new Map<string, string>();
  for (const rule of rules) {
    const error = await evaluateRule(options, rule, params);
    if (error !== undefined) errors.set(rule.name, error);
  }
  for (const { rule, problem } of await database.rows(await files.read('warehouse/find_wrong'))) {
    errors.set(String(rule), `it yields ${problem}`);
  }
  for (const rule of errors.keys()) await run('find_forget', { rule });
  const asked = rules.map(({ name, severity, subject, sources }) => {
    return { rule: name, severity, subject, sources, error: errors.has(name) ? 'the rule failed' : null };
  });
  await run('find_rules', { rules: JSON.stringify(asked) });
  return [...refused, ...[...errors].map(([rule, error]) => ({ rule, error }))];
}

/** Asks one rule; the database's words where it refuses. */
async function evaluateRule(
  { database, files }: EvaluateOptions,
  rule: Rule,
  params: SqlParams,
): Promise<string | undefined> {
  const query = await files.render('warehouse/find_ask', { rows: rule.sql });
  try {
    await database.run(query, { ...params, rule: rule.name });
    return undefined;
  } catch (error) {
    return firstLine(error);
  }
}

/** What a rule may use: `$as_of`, `$targets` (null for all) and each threshold in snake_case. */
function ruleParams({ asOf, thresholds, targets }: EvaluateOptions): SqlParams {
  const snake = (name: string) => name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
  const named = Object.entries(thresholds).map(([name, value]) => [snake(name), value]);
  return { ...Object.fromEntries(named), as_of: asOf.toISOString(), targets: targets ?? null };
}
