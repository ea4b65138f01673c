import { HOUR_MS } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
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
  readonly database: Database;
  readonly files: SqlFiles;
  readonly rule: string;
  /** The sources that the rule reads. */
  readonly sources: readonly string[];
  readonly targets: readonly string[];
  readonly choice?: FindingChoice;
  readonly now: Date;
  readonly staleHours: number;
}

type Row = Readonly<Record<string, unknown>>;

/**
 * Splits the chosen findings of a rule into those that may be acted on and those that may not, with the reason.
 * @throws TidemarkError USAGE for a choice that is none of them.
 */
export async function selectFindings(options: SelectOptions): Promise<FindingSelection> {
  const { database, files, rule, targets, now } = options;
  const rows = await database.rows(await files.read('remediation/findings'), { rule, targets, now: now.toISOString() });
  const staleTargets = await findStaleTargets(options);
  assertFound(options, rows);
  const candidates: PlanCandidate[] = [];
  const skipped: { finding_id: string; reason: string }[] = [];
  let remaining = 0;
  for (const row of rows) {
    const reason = explainState(row) ?? staleTargets.get(String(row.target)) ?? explainAge(row, options);
    if (!isChosen(row, options.choice)) remaining += reason === undefined ? 1 : 0;
    else if (reason !== undefined) skipped.push({ finding_id: String(row.finding_id), reason });
    else candidates.push(row as unknown as PlanCandidate);
  }
  return { candidates, skipped, remaining };
}

function isChosen(row: Row, choice: FindingChoice | undefined): boolean {
  if (!choice || choice.findings.length + choice.subjects.length === 0) return true;
  return isFinding(row, choice.findings) || isSubject(row, choice.subjects);
}

const isFinding = ({ finding_id }: Row, ids: readonly string[]) => ids.includes(String(finding_id));
const isSubject = ({ subject_id, subject_name }: Row, subjects: readonly string[]) =>
  subjects.includes(String(subject_id)) || (subject_name !== null && subjects.includes(String(subject_name)));

function assertFound({ choice, rule }: SelectOptions, rows: readonly Row[]): void {
  const { findings = [], subjects = [] } = choice ?? {};
  const missing = [
    ...findings.filter((id) => !rows.some((row) => isFinding(row, [id]))).map((id) => `--finding ${id}`),
    ...subjects.filter((name) => !rows.some((row) => isSubject(row, [name]))).map((name) => `--subject ${name}`),
  ];
  if (missing.length === 0) return;
  throw new TidemarkError('USAGE', `${missing.join(', ')}: no open finding of rule ${rule}`, {
    hint: `list them with \`tidemark findings --rule ${rule}\``,
  });
}

function explainState(row: Row): string | undefined {
  if (row.state === 'accepted') {
    return `accepted until ${row.accepted_until}: ${row.accepted_reason ?? 'no reason given'}`;
  }
  if (row.unassessed_since !== null) return `not assessed since ${row.unassessed_since}: it may no longer apply`;
  return undefined;
}

/** A pull without an evaluation leaves old findings beside fresh sources. */
function explainAge({ last_seen }: Row, { now, staleHours }: SelectOptions): string | undefined {
  if (hoursBetween(String(last_seen), now) <= staleHours) return undefined;
  return `last found at ${last_seen}: run a job to evaluate the rule again`;
}

/** Targets with a source that is not up to date, and the reason. */
async function findStaleTargets(options: SelectOptions): Promise<ReadonlyMap<string, string>> {
  const { database, files, sources, targets } = options;
  const rows = await database.rows(await files.read('remediation/sources'), { sources, targets });
  const stale = new Map<string, string>();
  for (const target of targets) {
    const reasons = sources.map((source) => {
      const state = rows.find((row) => row.target === target && row.source === source);
      return explainStaleness(source, state, options);
    });
    const first = reasons.find((reason) => reason !== undefined);
    if (first !== undefined) stale.set(target, first);
  }
  return stale;
}

function explainStaleness(
  source: string,
  state: Row | undefined,
  { now, staleHours }: SelectOptions,
): string | undefined {
  if (typeof state?.as_of !== 'string') return `source ${source} was never pulled completely`;
  // What belongs to a part that could not be listed is not assessed (`explainState`).
  if (state.status !== 'complete' && state.status !== 'partial')
    return `source ${source} is stale: the status of its last pull is ${state.status}`;
  const isStale = hoursBetween(state.as_of, now) > staleHours;
  return isStale ? `source ${source} is stale: last pulled at ${state.as_of}` : undefined;
}

function hoursBetween(time: string, now: Date): number {
  return (now.getTime() - Date.parse(time)) / HOUR_MS;
}

/** Skips candidates for other reasons: finding, reason. */
export function excludeFindings(
  { candidates, skipped, remaining }: FindingSelection,
  excluded: ReadonlyMap<string, string>,
): FindingSelection {
  const reasons = candidates.flatMap(({ finding_id }) => {
    const reason = excluded.get(finding_id);
    return reason === undefined ? [] : [{ finding_id, reason }];
  });
  return {
    candidates: candidates.filter(({ finding_id }) => !excluded.has(finding_id)),
    skipped: [...skipped, ...reasons],
    remaining,
  };
}
