import { TidemarkError } from '../core/errors.ts';
import type { Warehouse } from '../warehouse/session.ts';
import type { PlaybookFinding } from './define.ts';
import type { Plan } from './plan-file.ts';

/** A finding that a plan may act on. */
export interface PlanCandidate extends PlaybookFinding {
  readonly since: string;
}

export interface FindingSelection {
  /** The worst first. */
  readonly candidates: readonly PlanCandidate[];
  readonly skipped: Plan['skipped'];
  /** Findings that may be acted on, and that were not chosen. */
  readonly remaining: number;
}

/** Which of a rule's findings to plan: those of these IDs and of these subjects, or all, and not more than so many. */
export interface FindingChoice {
  readonly findings: readonly string[];
  /** Names or IDs. */
  readonly subjects: readonly string[];
  readonly limit?: number;
}

export interface SelectOptions {
  readonly rule: string;
  /** The sources that the rule reads. */
  readonly sources: readonly string[];
  readonly targets: readonly string[];
  readonly choice: FindingChoice | undefined;
  /** Findings that are skipped for other reasons. */
  readonly excluded: ReadonlyMap<string, string>;
  readonly now: Date;
  readonly staleHours: number;
}

type Candidate = PlanCandidate & { readonly reason: string | null };

/**
 * Splits the chosen findings of a rule into those that may be acted on and those that may not, with the reason.
 * @throws TidemarkError USAGE for a choice that is none of them.
 */
export async function selectFindings(
  { database, files }: Pick<Warehouse, 'database' | 'files'>,
  { rule, sources, targets, choice, excluded, now, staleHours }: SelectOptions,
): Promise<FindingSelection> {
  const params = { rule, sources, targets, now: now.toISOString(), stale_hours: staleHours };
  const rows = (await database.rows(await files.read('remediation/findings'), params)) as unknown as Candidate[];
  const { findings = [], subjects = [] } = choice ?? {};
  assertFound(rule, rows, findings, subjects);
  const isChosen = (row: Candidate) => findings.includes(row.finding_id) || isSubject(row, subjects);
  const chosen = findings.length + subjects.length === 0 ? rows : rows.filter(isChosen);
  const usable = chosen.filter(({ reason }) => reason === null);
  const unusable = chosen.flatMap(({ finding_id, reason }) => (reason === null ? [] : [{ finding_id, reason }]));
  const left = usable.flatMap(({ finding_id }) => {
    const reason = excluded.get(finding_id);
    return reason === undefined ? [] : [{ finding_id, reason }];
  });
  return {
    candidates: usable.filter(({ finding_id }) => !excluded.has(finding_id)),
    skipped: [...unusable, ...left],
    remaining: rows.filter(({ reason }) => reason === null).length - usable.length,
  };
}

const isSubject = ({ subject_id, subject_name }: Candidate, subjects: readonly string[]) =>
  subjects.includes(subject_id) || (subject_name !== null && subjects.includes(subject_name));

function assertFound(
  rule: string,
  rows: readonly Candidate[],
  findings: readonly string[],
  subjects: readonly string[],
): void {
  const missing = [
    ...findings.filter((id) => !rows.some((row) => row.finding_id === id)).map((id) => `--finding ${id}`),
    ...subjects.filter((name) => !rows.some((row) => isSubject(row, [name]))).map((name) => `--subject ${name}`),
  ];
  if (missing.length === 0) return;
  throw new TidemarkError('USAGE', `${missing.join(', ')}: no open finding of rule ${rule}`, {
    hint: `list them with \`tidemark findings --rule ${rule}\``,
  });
}
