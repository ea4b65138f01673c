import { HOUR_MS } from '../core/clock.ts';
import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import type { PlaybookFinding } from './define.ts';
import type { Plan } from './plan-file.ts';

/** A finding that a plan may act on. */
export interface PlanCandidate extends PlaybookFinding {
  readonly since: string;
}

export interface FindingSelection {
  readonly candidates: readonly PlanCandidate[];
  readonly skipped: Plan['skipped'];
}

export interface SelectOptions {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly rule: string;
  /** The sources that the rule reads. */
  readonly sources: readonly string[];
  readonly targets: readonly string[];
  readonly now: Date;
  readonly staleHours: number;
}

type Row = Readonly<Record<string, unknown>>;

/** Splits the findings of a rule into those that may be acted on and those that may not, with the reason. */
export async function selectFindings(options: SelectOptions): Promise<FindingSelection> {
  const { database, files, rule, targets, now } = options;
  const rows = await database.rows(await files.read('remediation/findings'), { rule, targets, now: now.toISOString() });
  const staleTargets = await findStaleTargets(options);
  const candidates: PlanCandidate[] = [];
  const skipped: { finding_id: string; reason: string }[] = [];
  for (const row of rows) {
    const reason = explainState(row) ?? staleTargets.get(String(row.target)) ?? explainAge(row, options);
    if (reason !== undefined) skipped.push({ finding_id: String(row.finding_id), reason });
    else candidates.push(row as unknown as PlanCandidate);
  }
  return { candidates, skipped };
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
  if (state.status !== 'complete') return `source ${source} is stale: the status of its last pull is ${state.status}`;
  const isStale = hoursBetween(state.as_of, now) > staleHours;
  return isStale ? `source ${source} is stale: last pulled at ${state.as_of}` : undefined;
}

function hoursBetween(time: string, now: Date): number {
  return (now.getTime() - Date.parse(time)) / HOUR_MS;
}

/** Skips candidates for other reasons: finding, reason. */
export function excludeFindings(
  { candidates, skipped }: FindingSelection,
  excluded: ReadonlyMap<string, string>,
): FindingSelection {
  const reasons = candidates.flatMap(({ finding_id }) => {
    const reason = excluded.get(finding_id);
    return reason === undefined ? [] : [{ finding_id, reason }];
  });
  return {
    candidates: candidates.filter(({ finding_id }) => !excluded.has(finding_id)),
    skipped: [...skipped, ...reasons],
  };
}
