import type { Config } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { findRule, readRules } from '../tell/findings/rules.ts';
import type { OpenWarehouse } from '../warehouse/session.ts';
import type { PlanCandidate } from './action-call.ts';
import type { Playbook } from './define.ts';
import { type ActionOutcome, explainUnsettled, type LedgerEntries, listBlocking, takeFinal } from './ledger.ts';
import { readLedger } from './ledger-table.ts';
import { findingIds, type Plan } from './plan-file.ts';

/** Which of a rule's findings to plan: those of these IDs and of these subjects, or all, and not more than so many. */
type FindingChoice = Omit<NonNullable<Plan['selection']>, 'remaining'>;

export interface SelectOptions {
  readonly config: Config;
  readonly playbook: Playbook;
  /** @default every configured target */
  readonly targets?: readonly string[];
  /** @default every finding of the rule */
  readonly choice?: FindingChoice;
  /** Findings that are skipped, with the reason. */
  readonly excluded?: ReadonlyMap<string, string>;
}

/**
 * Splits the chosen findings of a rule into those that may be acted on, the worst first, and those that may not, with the reason.
 * `remaining`: those that may be acted on, and were not chosen.
 * @throws TidemarkError USAGE for a choice that is none of them.
 */
export async function selectFindings(
  { database, files }: OpenWarehouse,
  { config, playbook: { rule }, choice, targets, excluded }: SelectOptions,
  now: Date,
) {
  // The action of a finding may not be repeated while its outcome is not known.
  const reasons = new Map(excluded);
  const entries = await readLedger(config, { database, files });
  const applied = listApplied(entries);
  for (const entry of listBlocking(entries, now)) {
    for (const id of findingIds(entry)) reasons.set(id, explainUnsettled(entry));
  }
  const params = {
    rule,
    sources: findRule(readRules(files), rule)?.sources ?? [],
    targets: targets ?? config.targets.map(({ name }) => name),
    now: now.toISOString(),
    stale_hours: config.thresholds.staleHours,
  };
  const rows = (await database.rows(files.read('remediation/findings'), params)) as unknown as (PlanCandidate & {
    readonly seen_ms: number;
  })[];
  const open = rows.map(({ seen_ms, ...row }) => {
    const { finding_id, reason } = row;
    return { ...row, reason: reason ?? reasons.get(finding_id) ?? explainActed(applied.get(finding_id), seen_ms) };
  });
  const chosen = selectChosen(open, rule, choice);
  const isUsable = ({ reason }: PlanCandidate) => reason === null;
  const candidates = chosen.filter(isUsable);
  return {
    candidates,
    skipped: chosen.flatMap(({ finding_id, reason }) => (reason === null ? [] : { finding_id, reason })),
    remaining: open.filter(isUsable).length - candidates.length,
  };
}

/** The last action that was applied for each finding. */
function listApplied(entries: LedgerEntries): ReadonlyMap<string, ActionOutcome> {
  const outcomes = [...entries.values()].flatMap((entry) => takeFinal(entry) ?? []);
  const applied = outcomes.filter(({ status }) => status === 'applied');
  applied.sort((a, b) => Date.parse(a.finished_at) - Date.parse(b.finished_at));
  return new Map(applied.flatMap((entry) => findingIds(entry).map((id) => [id, entry])));
}

/**
 * A finding does not show what was done after its sources were read. An apply of what is mostly done already would say that the service is
 * at fault.
 */
function explainActed(applied: ActionOutcome | undefined, seenMs: number): string | null {
  if (!applied || Date.parse(applied.finished_at) <= seenMs) return null;
  const { action_id, plan_id, finished_at } = applied;
  return `${action_id} of plan ${plan_id} was applied at ${finished_at}, and no run has evaluated its rule since: run a job`;
}

/** The options that name a row. */
function toOptions({ finding_id, subject_id, subject_name }: PlanCandidate): readonly string[] {
  return [`--finding ${finding_id}`, `--subject ${subject_id}`, `--subject ${subject_name ?? subject_id}`];
}

/** The rows that a choice names; all where it names none. @throws TidemarkError USAGE for a choice that is none of them */
function selectChosen(rows: readonly PlanCandidate[], rule: string, choice: FindingChoice | undefined) {
  const { findings = [], subjects = [] } = choice ?? {};
  const wanted = new Set([...findings.map((id) => `--finding ${id}`), ...subjects.map((name) => `--subject ${name}`)]);
  if (wanted.size === 0) return rows;
  const chosen = rows.filter((row) => toOptions(row).some((option) => wanted.has(option)));
  const known = new Set(chosen.flatMap(toOptions));
  const missing = [...wanted].filter((option) => !known.has(option));
  if (missing.length === 0) return chosen;
  throw new TidemarkError('USAGE', `${missing.join(', ')}: no open finding of rule ${rule}`, {
    hint: `list them with \`tidemark findings --rule ${rule}\``,
  });
}
