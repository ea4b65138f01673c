import { printJson } from '../http/json.ts';
import type { Severity } from '../warehouse/find-rules.ts';
import { textTable } from './text-table.ts';

/** What this listing uses of a row of `queries/warehouse/find_list.sql`; times are ISO 8601. */
export interface Finding {
  readonly finding_id: string;
  readonly target: string;
  readonly rule: string;
  readonly severity: Severity;
  readonly subject_type: string;
  readonly subject_id: string;
  readonly subject_name: string | null;
  readonly title: string;
  readonly state: string;
  readonly opened_at: string;
  readonly unassessed_since: string | null;
  readonly accepted_until: string | null;
  /** Null where it stands alone. */
  readonly group_key: string | null;
  /** Findings of the same rule, target and cause among those shown. */
  readonly group_size: number;
}

/** The rows as `--json` prints them. */
export function findingsJson(findings: readonly Finding[]): string {
  return `${printJson(findings)}\n`;
}

/** A line for each cause, in the order of the rows, and what they come to. */
export function findingsTable(findings: readonly Finding[]): string {
  if (findings.length === 0) return 'no findings\n';
  const lines = causes(findings).map(lineOf);
  const worst = findings.filter(({ severity }) => severity === 'critical').length;
  return [
    textTable(['severity', 'state', 'since', 'target', 'rule', 'what', 'id'], lines),
    '',
    `${counted(findings.length, 'finding')} in ${counted(lines.length, 'line')}, ${worst} critical`,
    '',
  ].join('\n');
}

/** Rows of one cause stand together. */
function causes(findings: readonly Finding[]): readonly (readonly [Finding, ...Finding[]])[] {
  const groups: [Finding, ...Finding[]][] = [];
  for (const finding of findings) {
    const last = groups.at(-1);
    if (last && sameCause(last[0], finding)) last.push(finding);
    else groups.push([finding]);
  }
  return groups;
}

function sameCause(a: Finding, b: Finding): boolean {
  return a.group_key !== null && a.group_key === b.group_key && a.rule === b.rule && a.target === b.target;
}

const NAMED = 3;

function lineOf(group: readonly [Finding, ...Finding[]]): readonly string[] {
  const [first, ...others] = group;
  const since = group.map(({ opened_at }) => opened_at).sort()[0] ?? '';
  const what = others.length === 0 ? first.title : groupTitle(group);
  const id = others.length === 0 ? first.finding_id : `${first.finding_id} +${others.length}`;
  return [first.severity, statesOf(group), since.slice(0, 10), first.target, first.rule, what, id];
}

function groupTitle(group: readonly [Finding, ...Finding[]]): string {
  const named = group.slice(0, NAMED).map(({ subject_name, subject_id }) => subject_name ?? subject_id);
  const more = group.length > NAMED ? ', …' : '';
  return `${group[0].group_key}: ${counted(group.length, group[0].subject_type)} (${named.join(', ')}${more})`;
}

/** `open`, `accepted until 2027-03-31`, `new 2, open 38`; a `?` where nothing complete tells whether it still holds. */
function statesOf(group: readonly Finding[]): string {
  const counts = new Map<string, number>();
  for (const finding of group) counts.set(stateOf(finding), (counts.get(stateOf(finding)) ?? 0) + 1);
  if (counts.size === 1) return [...counts.keys()].join();
  return [...counts].map(([state, count]) => `${state} ${count}`).join(', ');
}

function stateOf({ state, accepted_until, unassessed_since }: Finding): string {
  const until = state === 'accepted' && accepted_until ? ` until ${accepted_until.slice(0, 10)}` : '';
  return `${state}${until}${unassessed_since ? '?' : ''}`;
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
