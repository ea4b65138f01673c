import { NO_POOL_USE } from '../../services/platform/pool-relationships.ts';
import type { Database, SqlParams, Statements } from '../../warehouse/database.ts';
import { firstLine } from '../../warehouse/database.ts';
import { classifyStorageError } from '../../warehouse/integrity.ts';
import { quoteLiteral, type SqlFiles } from '../../warehouse/sql-files.ts';
import { fillParams } from '../../warehouse/sql-params.ts';
import type { Rule } from './rules.ts';

/** Macros that rules call. */
const RULE_MACROS = ['semver_key', 'iso_time', 'agent_pool_users', 'workspace_names', 'full_source'] as const;

/** The statements that make the macros for one connection. */
export function renderRuleMacros(files: SqlFiles): Promise<readonly string[]> {
  const parts = { kind: 'temp macro', no_use: quoteLiteral(NO_POOL_USE) };
  return Promise.all(RULE_MACROS.map((name) => files.render(`warehouse/${name}`, parts)));
}

/** Temporary tables that rules may read. Only the connection that has made them sees them. */
const TEMPORARY = /\b(?:configured_targets|listing_proofs|versions_in_use|version_support)\b/u;

/** What evaluates rules, and the table of the rows that it finds. */
interface Evaluator {
  readonly connection: Pick<Statements, 'script'>;
  readonly into: string;
  canTake(rule: Rule): boolean;
}

/**
 * Evaluates rules into the temporary table `candidates`, two at a time: DuckDB has one thread for a statement, to plan a rule often takes
 * as long as to run it, and another processor is idle.
 * @returns the error messages of the rules that fail, by name
 */
export async function runRules(
  database: Database,
  files: SqlFiles,
  rules: readonly Rule[],
  params: SqlParams,
): Promise<Map<string, string>> {
  const first: Evaluator = { connection: database, into: 'candidates', canTake: () => true };
  const second = await openSecond(database, files);
  const errors = await evaluateAll(files, [first, second], rules, params);
  await database.script(await files.read('warehouse/evaluation_collect'));
  await database.script(await files.read('warehouse/evaluation_detach'));
  return errors;
}

/** A sibling writes to a database in memory, which both connections see. */
async function openSecond(database: Database, files: SqlFiles): Promise<Evaluator> {
  for (const name of ['evaluation_attach', 'evaluation_candidates']) {
    await database.script(await files.read(`warehouse/${name}`));
  }
  const [sibling] = (await database.siblings(1)) as [Statements];
  await sibling.script((await renderRuleMacros(files)).join('\n'));
  return { connection: sibling, into: 'evaluation.candidates', canTake: ({ sql }) => !TEMPORARY.test(sql) };
}

/** Each evaluator takes the next rule that it can evaluate. @throws storage failures, when no rule is being evaluated any more */
async function evaluateAll(
  files: SqlFiles,
  evaluators: readonly Evaluator[],
  rules: readonly Rule[],
  params: SqlParams,
): Promise<Map<string, string>> {
  const waiting = [...rules];
  const errors = new Map<string, string>();
  const evaluate = async (evaluator: Evaluator) => {
    for (;;) {
      const index = waiting.findIndex((rule) => evaluator.canTake(rule));
      const [rule] = index === -1 ? [] : waiting.splice(index, 1);
      if (!rule) return;
      const error = await evaluateRule(files, evaluator, rule, params);
      if (error !== undefined) errors.set(rule.name, error);
    }
  };
  for (const end of await Promise.allSettled(evaluators.map(evaluate))) {
    if (end.status === 'rejected') throw end.reason;
  }
  return new Map([...errors].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Evaluates one rule. @returns the error message, if it fails. */
async function evaluateRule(
  files: SqlFiles,
  { connection, into }: Evaluator,
  rule: Rule,
  params: SqlParams,
): Promise<string | undefined> {
  const query = await files.render('warehouse/evaluate_rule', { into, rows: rule.sql });
  try {
    await connection.script(fillParams(query, { ...params, rule: rule.name }));
    return undefined;
  } catch (error) {
    if (classifyStorageError(error)) throw error;
    return firstLine(error);
  }
}
