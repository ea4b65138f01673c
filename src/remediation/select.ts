import type { Finding } from '../playbooks/playbook.ts';
import type { Database } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import type { Plan } from './plan-file.ts';

/** A finding with what the plan tells of it. */
export interface Candidate extends Finding {
  readonly since: string;
}

export interface Selection {
  readonly candidates: readonly Candidate[];
  readonly skipped: Plan['skipped'];
}

export interface SelectOptions {
  readonly database: Database;
  readonly files: SqlFiles;
  readonly rule: string;
  /** What the rule relies on. */
  readonly sources: readonly string[];
  readonly targets: readonly string[];
  readonly now: Date;
  readonly staleHours: number;
}

/** The findings of a rule that may be acted on; the others with the reason why not. */
export async function selectFindings(options: SelectOptions): Promise<Selection> {
  const { database, files, rule, targets, now } = options;
  const rows = await database.rows(await files.text('remediation/findings'), { rule, targets, now: now.toISOString() });
  const blocked = await blockedTargets(options);
  const candidates: Candidate[] = [];
  const skipped: { finding_id: string; reason: string }[] = [];
  for (const row of rows) {
    const reason = whyNot(row) ?? blocked.get(String(row.target)) ?? whyOld(row, options);
    if (reason !== undefined) skipped.push({ finding_id: String(row.finding_id), reason });
    else candidates.push(row as unknown as Candidate);
  }
  return { candidates, skipped };
}

function whyNot(row: Readonly<Record<string, unknown>>): string | undefined {
  if (row.state === 'accepted')
    return `accepted until ${row.accepted_until}: ${row.accepted_reason ?? 'no reason given'}`;
  if (row.unassessed_since !== null) return `not assessed since ${row.unassessed_since}: whether it holds is not known`;
  return undefined;
}

/** A pull alone assesses nothing: its sources may be of today, and the finding is not. */
function whyOld(
  { last_seen }: Readonly<Record<string, unknown>>,
  { now, staleHours }: SelectOptions,
): string | undefined {
  if (hoursAgo(String(last_seen), now) <= staleHours) return undefined;
  return `last found at ${last_seen}: run a job to find out whether it holds`;
}

/** Targets whose sources do not tell the present, with the reason. */
async function blockedTargets(options: SelectOptions): Promise<ReadonlyMap<string, string>> {
  const { database, files, sources, targets, now, staleHours } = options;
  const rows = await database.rows(await files.text('remediation/sources'), { sources, targets });
  const blocked = new Map<string, string>();
  for (const target of targets) {
    for (const source of sources) {
      const state = rows.find((row) => row.target === target && row.source === source);
      const reason = whyStale(source, state, now, staleHours);
      if (reason !== undefined && !blocked.has(target)) blocked.set(target, reason);
    }
  }
  return blocked;
}

function whyStale(
  source: string,
  state: Readonly<Record<string, unknown>> | undefined,
  now: Date,
  staleHours: number,
): string | undefined {
  if (typeof state?.as_of !== 'string') return `source ${source} was never pulled completely`;
  if (state.status !== 'complete') return `source ${source} is stale: its last pull is ${state.status}`;
  const old = hoursAgo(state.as_of, now) > staleHours;
  return old ? `source ${source} is stale: last pulled at ${state.as_of}` : undefined;
}

function hoursAgo(time: string, now: Date): number {
  return (now.getTime() - Date.parse(time)) / 3_600_000;
}
