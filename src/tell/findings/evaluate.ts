import type { Target, Thresholds } from '../../config/config.ts';
import { TidemarkError } from '../../core/errors.ts';
import type { TokenInfo } from '../../services/describe-token.ts';
import { type SqlParams, withMemory } from '../../warehouse/database.ts';
import { chooseTime } from '../../warehouse/latest.ts';
import type { OpenWarehouse } from '../../warehouse/session.ts';
import type { SqlFiles } from '../../warehouse/sql-files.ts';
import { fillParams, thresholdParams, toJsonParam } from '../../warehouse/sql-params.ts';
import { loadTables, type Table } from '../../warehouse/tables.ts';
import { createCandidates } from '../reports/subjects.ts';
import { type InvalidRule, type Rule, readRules, renderRuleMacros, runRules } from './rules.ts';

/** A configured target, with what decides how much of its service it sees. */
export type AssessedTarget = Pick<Target, 'name'> &
  Partial<Pick<Target, 'kind' | 'flavor' | 'namespace' | 'sees' | 'managementToken'>>;

interface RuleOptions {
  /** Time of the run: its pulls are the evidence, with earlier ones as far as a rule permits. */
  readonly asOf: Date;
  readonly thresholds: Thresholds;
  /** The configured targets; sources of other targets are never stale. @default all targets ever pulled */
  readonly targets?: readonly AssessedTarget[];
}

/** With the working warehouse, outside of any transaction. */
interface EvaluateOptions extends OpenWarehouse, RuleOptions {
  /** The run, whose pulls may be older than `asOf` where it resumes another one. */
  readonly runId?: string;
}

/** Numbers of findings that an evaluation changed. */
export interface FindingsSummary {
  /** Found by the first assessment of a rule and target: open, but not new. */
  readonly baseline: number;
  readonly found: number;
  readonly reopened: number;
  /** No longer accepted: the acceptance ended, or the finding got worse. */
  readonly returned: number;
  readonly resolved: number;
  /** Ended with their subject, which says nothing about a repair. */
  readonly deleted: number;
  /** Kept as they were, since their sources were not pulled completely. */
  readonly unassessed: number;
  /** New or open after the evaluation. */
  readonly open: number;
  readonly accepted: number;
  /** Rules that could not be evaluated; their findings are kept. */
  readonly failed: readonly InvalidRule[];
}

/**
 * Evaluates the rules of `queries/findings/` and updates the findings: new, open, resolved, reopened, accepted. Rules write to
 * temporary tables first; the findings are then updated in one transaction. Evaluating the same run twice changes nothing.
 */
export async function evaluateFindings(options: EvaluateOptions): Promise<FindingsSummary> {
  const { database, files } = options;
  const failed = await evaluateRules(options);
  const types = await database.rows(files.read('warehouse/found_types'));
  await createCandidates(options, new Set(types.map(({ subject_type }) => String(subject_type))));
  await database.run(files.read('warehouse/gone_notes'), { as_of: options.asOf.toISOString() });
  await database.transact(UPDATES.map((name) => fill(files, name, ruleParams(options))));
  const [summary] = await database.rows(files.read('warehouse/evaluation_summary'));
  return { ...(summary as unknown as Omit<FindingsSummary, 'failed'>), failed };
}

/** Evaluates all rules on whatever the warehouse has, and keeps nothing. @returns the rules that cannot be evaluated */
export async function checkRules(options: EvaluateOptions): Promise<readonly InvalidRule[]> {
  const { database, files } = options;
  const { rules, invalid } = readRules(files);
  await database.script(prepareStatements(options));
  return [...invalid, ...(await runRules(database, files, rules, ruleParams(options)))];
}

/** The statements that update the findings from what the rules returned, in their order. */
const UPDATES = [
  'rule_parts',
  'assessments',
  'drop_repeated',
  'doubtful_subjects',
  'transition',
  'lengthen_ids',
  'leave_out_rules',
  'keep_acceptances',
  'merge_findings',
  'insert_findings',
  'see_again',
  'end_acceptances',
  'record_events',
  'record_evaluations',
  'end_unassessed_rules',
  'begin_unassessed_rules',
  'record_partial_periods',
] as const;

function fill(files: SqlFiles, name: string, params: SqlParams): string {
  return fillParams(files.read(`warehouse/${name}`), params);
}

/** Evaluates the rules that can be assessed. An invalid rule is listed as failed; the others still run. */
async function evaluateRules(options: EvaluateOptions): Promise<readonly InvalidRule[]> {
  const { database, files } = options;
  const query = async (name: string, params?: SqlParams) => database.rows(files.read(`warehouse/${name}`), params);
  const { rules, invalid } = readRules(files);
  const tables = loadTables(files);
  const needs = rules.map(({ sql, ...rule }) => ({ ...rule, columns: neededColumns({ ...rule, sql }, tables) }));
  await database.script(prepareStatements(options));
  // what a rule that cannot be read would find, and where, is not known
  const unread = invalid.map(({ rule }) => ({ name: rule, worst: 'critical', sources: [] }));
  await query('evaluated_rules', { rules: JSON.stringify([...needs, ...unread]) });
  const assessable = new Set((await query('assessable_rules')).map(({ rule }) => rule));
  const wanted = rules.filter(({ name }) => assessable.has(name));
  const failed = [...invalid, ...(await runRules(database, files, wanted, ruleParams(options)))];
  const refused = await query('invalid_rows');
  failed.push(...refused.map(({ rule, problem }) => ({ rule: String(rule), error: `returns ${problem}` })));
  for (const { rule } of failed) {
    await query('discard_rule', { rule });
    await query('record_failure', { rule });
  }
  return failed;
}

/** A name or a place only says what a finding is about. */
function neededColumns({ needs, sources, sql }: Rule, tables: ReadonlyMap<string, Table>): readonly string[] {
  const words = new Set(needs ?? sql.replaceAll(/--.*$/gmu, '').match(/\w+/gu));
  return sources.flatMap((source) => {
    const { columns = [], changes } = tables.get(source) ?? {};
    const labels = needs ? [] : [changes?.name, ...(changes?.place ?? [])];
    return columns.flatMap(({ name }) => (words.has(name) && !labels.includes(name) ? [name] : []));
  });
}

/** What rules write, and what several of them read of versions. */
export const JUDGED = ['candidates', 'judged_support', 'judged_versions', 'unreported_uses'] as const;

/** What rules read and write beside the tables, as one text. */
function prepareStatements(options: EvaluateOptions): string {
  const { files, runId = null, targets = [] } = options;
  const params = { ...ruleParams(options), run_id: runId, configured: JSON.stringify(targets.map(describeTarget)) };
  const tables = [...JUDGED, 'configured_targets', 'evaluated_sources', 'listing_proofs'];
  return [...renderRuleMacros(files), ...tables.map((name) => fill(files, name, params))].join('\n');
}

/** The parameters of rules: `$as_of`, `$targets` (null for all) and each threshold in snake_case. */
export function ruleParams({ asOf, thresholds, targets }: RuleOptions): SqlParams {
  const names = targets?.map(({ name }) => name) ?? null;
  return { ...thresholdParams(thresholds), as_of: asOf.toISOString(), targets: names };
}

/** What the configuration says of a target, for the proofs and for rules. */
function describeTarget({ name, kind, flavor, namespace, sees, managementToken }: AssessedTarget) {
  const declared = typeof sees === 'string' ? { '*': sees } : (sees ?? {});
  return { target: name, kind, flavor, namespace, sees: declared, management_token: managementToken };
}

/** The statements for a proof without a warehouse, each with the table that it makes. */
const PROOF_STEPS = {
  assumed_sources: 'evaluated_sources',
  assumed_token: 'tokens',
  configured_targets: 'configured_targets',
  listing_proofs: 'listing_proofs',
};

/**
 * The sources of a target whose listing proves nothing about what it does not contain, as the rules would decide after a pull now, and
 * why: `queries/warehouse/listing_proofs.sql` in a database of its own.
 */
export async function findUnprovenListings(
  files: SqlFiles,
  target: AssessedTarget,
  sources: readonly string[],
  token: Pick<TokenInfo, 'type' | 'is_management' | 'sees_every_namespace'> | undefined,
) {
  const params = {
    target: target.name,
    sources: [...new Set([...sources, 'tokens'])],
    token: token === undefined ? null : toJsonParam(token),
    configured: JSON.stringify([describeTarget(target)]),
    as_of: new Date(0).toISOString(),
    stale_hours: 1,
  };
  return withMemory(async (database) => {
    for (const [file, name] of Object.entries(PROOF_STEPS)) {
      await database.run(files.render(`warehouse/${file}`, { name }), params);
    }
    const rows = await database.rows(files.read('warehouse/unproven_listings'));
    return rows.map(({ source, why }) => ({ source: String(source), why: String(why) }));
  });
}

export interface Acceptance {
  readonly ids: readonly string[];
  readonly reason: string;
  readonly owner: string;
  readonly until: Date;
}

/**
 * Accepts findings until a time, or until they get worse: their severity or the weight given by the rule rises. Resolving a finding
 * ends its acceptance.
 * @throws TidemarkError USAGE if a finding is unknown or resolved, or the end has passed; no finding is then accepted.
 */
export async function acceptFindings(warehouse: OpenWarehouse, acceptance: Acceptance, now: Date): Promise<void> {
  const { database, files } = warehouse;
  const { ids, reason, owner, until } = acceptance;
  const at = await chooseTime(warehouse, now);
  if (until <= now) throw new TidemarkError('USAGE', `--until ${until.toISOString()} has passed`);
  if (until <= at)
    throw new TidemarkError('USAGE', `--until ${until.toISOString()} is before the last run of the warehouse`);
  const params = { ids, reason, owner, until: until.toISOString(), now: at.toISOString() };
  await database.transaction(async () => {
    await assertOpen(warehouse, ids);
    await database.run(files.read('warehouse/accept_findings'), params);
    await database.run(files.read('warehouse/record_acceptance'), params);
  });
}

/** @throws TidemarkError USAGE naming the findings that are unknown or resolved. */
export async function assertOpen({ database, files }: OpenWarehouse, ids: readonly string[]): Promise<void> {
  const rows = await database.rows(files.read('warehouse/findings_by_id'), { ids });
  const states = new Map(rows.map(({ finding_id, state }) => [finding_id, state]));
  const unknown = ids.filter((id) => !states.has(id));
  if (unknown.length > 0) {
    throw new TidemarkError('USAGE', `unknown finding ${unknown.join(', ')}`, { hint: 'see `tidemark findings`' });
  }
  const resolved = ids.filter((id) => states.get(id) === 'resolved');
  if (resolved.length > 0) throw new TidemarkError('USAGE', `already resolved: ${resolved.join(', ')}`);
}
