import type { Thresholds } from '../../config/config.ts';
import { POLICY_FILE, type PolicyRow } from '../../config/policy.ts';
import { TidemarkError } from '../../core/errors.ts';
import { type SqlParams, withMemory } from '../../warehouse/database.ts';
import { renderPolicy } from '../../warehouse/migrate.ts';
import type { OpenWarehouse } from '../../warehouse/session.ts';
import type { SqlFiles } from '../../warehouse/sql-files.ts';
import { JUDGED, ruleParams } from './evaluate.ts';
import { readRules, renderRuleMacros, runRules } from './rules.ts';

/** A row of a rule that reads the policy. */
export type FlaggedVersion = Readonly<Record<'rule' | 'target' | 'severity' | 'subject_id' | 'title', string>>;

/** What a policy would change, compared with the one that the last run read. */
export type PolicyEffect = NonNullable<Awaited<ReturnType<typeof comparePolicies>>>;

/** With the published warehouse. */
interface PolicyCheckOptions extends OpenWarehouse {
  readonly policy: readonly PolicyRow[];
  readonly thresholds: Thresholds;
  readonly targets: readonly string[];
}

/**
 * Evaluates the rules that read the policy with the published one and with another. Writes nothing.
 * @returns null where the warehouse was written by a version that knew no policy
 * @throws TidemarkError DATA naming a rule that fails
 */
export async function comparePolicies(options: PolicyCheckOptions) {
  const { database, files, policy, thresholds, targets } = options;
  const query = async (name: string, params?: SqlParams) => database.rows(files.read(name), params);
  const macros = await query('query/past_macros');
  if (!macros.some(({ name }) => name === 'versions_in_use_at')) return null;
  const { rules: all, invalid } = readRules(files);
  const rules = all.filter(({ sql }) => /\bversions?_(?:in_use|policy|support)/u.test(sql));
  const [latest] = await query('warehouse/latest_as_of');
  const asOf = new Date(String(latest?.latest ?? 0));
  const params = ruleParams({ asOf, thresholds, targets: targets.map((name) => ({ name })) });
  await database.script(renderRuleMacros(files).join('\n'));
  const find = async () => {
    for (const name of JUDGED) await query(`warehouse/${name}`, params);
    const [failed] = await runRules(database, files, rules, params);
    if (failed) throw new TidemarkError('DATA', failed.error);
  };
  await find();
  await query('policy/flagged_before');
  await database.script(renderPolicy(files, policy, 'temp '));
  await find();
  const severities = JSON.stringify(Object.fromEntries(rules.map(({ name, severity }) => [name, severity])));
  const flagged = await query('policy/effect', { severities });
  const select = (wanted: string) =>
    flagged.filter(({ effect }) => effect === wanted).map(({ effect: _, ...row }) => row as unknown as FlaggedVersion);
  const sources = [...new Set(rules.flatMap((rule) => rule.sources))];
  return {
    added: select('added'),
    ended: select('ended'),
    /** Subjects that it says something of, and whose version cannot be compared with it. */
    unknown: select('unknown'),
    /** Names of the policy that nothing in use has. */
    unused: (await query('policy/unused', params)).map(({ kind, name }) => `${kind} ${name}`),
    /** Sources whose last pull is not loaded, and rules with an invalid header, so that more may be flagged. */
    gaps: [
      ...(await query('policy/gaps', { ...params, sources })).map(({ gap }) => String(gap)),
      ...invalid.map(({ error }) => error),
    ],
  };
}

/** What contradicts itself, each as a line. @param name that of the file in the lines */
export async function findImpossible(files: SqlFiles, policy: readonly PolicyRow[], name = POLICY_FILE) {
  if (policy.length === 0) return [];
  return withMemory(async (database) => {
    await database.script(files.render('warehouse/semver_key', { scope: '' }));
    await database.script(renderPolicy(files, policy));
    const rows = await database.rows(files.read('policy/impossible'));
    return rows.map((row) => `${name}: ${row.name}: ${row.problem}`);
  });
}
