import type { Thresholds } from '../../config/config.ts';
import { POLICY_FILE, type PolicyRow } from '../../config/policy.ts';
import { TidemarkError } from '../../core/errors.ts';
import { type Database, firstLine, openDatabase, type Statements } from '../../warehouse/database.ts';
import { renderPolicy } from '../../warehouse/migrate.ts';
import type { SqlFiles } from '../../warehouse/sql-files.ts';
import { fillParams, type SqlParams } from '../../warehouse/sql-params.ts';
import type { Row } from '../../warehouse/values.ts';
import { ruleParams } from './evaluate.ts';
import { loadRules, type Rule } from './rules.ts';
import { renderRuleMacros } from './run-rules.ts';

/** A row of a rule that reads the policy. */
export interface FlaggedVersion {
  readonly rule: string;
  readonly target: string;
  readonly severity: string;
  readonly subject_id: string;
  readonly title: string;
}

/** What a policy would change, compared with the one that the last run read. */
export interface PolicyEffect {
  readonly added: readonly FlaggedVersion[];
  readonly ended: readonly FlaggedVersion[];
  /** Subjects that it says something of, and whose version cannot be compared with it. */
  readonly unknown: readonly FlaggedVersion[];
  /** Names of the policy that nothing in use has. */
  readonly unused: readonly string[];
  /** Sources whose last pull is not loaded, so that more may be flagged. */
  readonly gaps: readonly string[];
}

export interface PolicyCheckOptions {
  /** The published warehouse. */
  readonly database: Database;
  readonly files: SqlFiles;
  readonly policy: readonly PolicyRow[];
  readonly thresholds: Thresholds;
  readonly targets: readonly string[];
}

/**
 * Evaluates the rules that read the policy with the published one and with another. Writes nothing.
 * @returns null where the warehouse was written by a version that knew no policy
 */
export async function comparePolicies(options: PolicyCheckOptions): Promise<PolicyEffect | null> {
  const { database, files, policy, thresholds, targets } = options;
  const macros = await database.rows(await files.read('query/past_macros'));
  if (!macros.some(({ name }) => name === 'versions_in_use_at')) return null;
  const rules = [...(await loadRules(files)).values()].filter(({ sql }) =>
    /\bversions?_(?:in_use|policy|support)/u.test(sql),
  );
  const [latest] = await database.rows(await files.read('warehouse/latest_as_of'));
  const asOf = new Date(String(latest?.latest ?? 0));
  const params = ruleParams({ asOf, thresholds, targets: targets.map((name) => ({ name })) });
  await database.script((await renderRuleMacros(files)).join('\n'));
  const judge = async () => {
    for (const name of ['judged_versions', 'judged_support']) {
      await database.script(fillParams(await files.read(`warehouse/${name}`), params));
    }
  };
  await judge();
  const before = await evaluate(database, rules, params);
  await database.script(await renderPolicy(files, policy, 'temp '));
  await judge();
  const after = await evaluate(database, rules, params);
  const unused = await database.rows(await files.read('policy/unused'), params);
  const sources = [...new Set(rules.flatMap((rule) => rule.sources))];
  const gaps = await database.rows(await files.read('policy/gaps'), { ...params, sources });
  return {
    added: without(after.found, before.found),
    ended: without(before.found, after.found),
    unknown: without(after.unknown, before.unknown),
    unused: unused.map(({ kind, name }) => `${kind} ${name}`),
    gaps: gaps.map(({ target, source, status }) => `${target}: ${source} is ${status}`),
  };
}

/** The ranges that no version is in, each as a line. */
export async function findImpossible(files: SqlFiles, policy: readonly PolicyRow[]): Promise<readonly string[]> {
  if (policy.length === 0) return [];
  const database = await openDatabase(':memory:');
  try {
    await database.script(await files.render('warehouse/semver_key', { kind: 'macro' }));
    await database.script(await renderPolicy(files, policy));
    const rows = await database.rows(await files.read('policy/impossible'));
    return rows.map(({ name, versions }) => `${POLICY_FILE}: ${name}: denied: no version is in ${versions}`);
  } finally {
    database.close();
  }
}

/** @throws TidemarkError DATA naming the rule that fails */
async function evaluate(database: Statements, rules: readonly Rule[], params: SqlParams) {
  const found: FlaggedVersion[] = [];
  const unknown: FlaggedVersion[] = [];
  for (const { name, severity, sql } of rules) {
    const rows = await database.script(fillParams(sql, params)).catch((error: unknown) => {
      throw new TidemarkError('DATA', `queries/findings/${name}.sql: ${firstLine(error)}`, { cause: error });
    });
    for (const row of rows) (row.unknown === true ? unknown : found).push(toFlagged(name, severity, row));
  }
  return { found, unknown };
}

function toFlagged(rule: string, severity: string, row: Row): FlaggedVersion {
  const { target, subject_id, title } = row;
  return {
    rule,
    target: String(target),
    severity: String(row.severity ?? severity),
    subject_id: String(subject_id),
    title: String(title),
  };
}

function without(all: readonly FlaggedVersion[], others: readonly FlaggedVersion[]): readonly FlaggedVersion[] {
  const key = ({ rule, target, subject_id }: FlaggedVersion) => JSON.stringify([rule, target, subject_id]);
  const known = new Set(others.map(key));
  return all.filter((one) => !known.has(key(one)));
}
