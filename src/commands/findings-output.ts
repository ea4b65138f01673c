import type { Colors } from '../core/color.ts';
import type { Severity } from '../findings/rules.ts';
import { printJson } from '../http/json.ts';
import { formatTable, plural } from './output.ts';

/** The columns that the listing uses of `queries/warehouse/select_findings.sql`; times are ISO 8601. */
export interface ListedFinding {
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
  /** Null where the finding has no group. */
  readonly group_key: string | null;
  /** Listed findings of the same rule, target and cause. */
  readonly group_size: number;
}

export function formatFindingsJson(findings: readonly ListedFinding[]): string {
  return `${printJson(findings)}\n`;
}

/** A line for each cause, in the order of the rows, followed by the totals. */
export function formatFindings(findings: readonly ListedFinding[], colors: Colors): string {
  if (findings.length === 0) return 'no findings\n';
  const lines = groupByCause(findings).map(toCells);
  const critical = findings.filter(({ severity }) => severity === 'critical').length;
  return [
    formatTable(['severity', 'state', 'since', 'target', 'rule', 'what', 'id'], lines, {
      colors,
      statusColumns: ['severity', 'state'],
    }),
    `${plural(findings.length, 'finding')} in ${plural(lines.length, 'line')}, ${critical} critical`,
    '',
  ].join('\n');
}

/** Rows of the same cause follow each other. */
function groupByCause(findings: readonly ListedFinding[]): readonly (readonly [ListedFinding, ...ListedFinding[]])[] {
  const groups: [ListedFinding, ...ListedFinding[]][] = [];
  for (const finding of findings) {
    const last = groups.at(-1);
    if (last && hasSameCause(last[0], finding)) last.push(finding);
    else groups.push([finding]);
  }
  return groups;
}

function hasSameCause(a: ListedFinding, b: ListedFinding): boolean {
  return a.group_key !== null && a.group_key === b.group_key && a.rule === b.rule && a.target === b.target;
}

const MAX_NAMES = 3;

function toCells(group: readonly [ListedFinding, ...ListedFinding[]]): readonly string[] {
  const [first, ...others] = group;
  const since = group.map(({ opened_at }) => opened_at).sort()[0] ?? '';
  const what = others.length === 0 ? first.title : formatGroupTitle(group);
  const id = others.length === 0 ? first.finding_id : `${first.finding_id} +${others.length}`;
  return [first.severity, formatStates(group), since.slice(0, 10), first.target, first.rule, what, id];
}

function formatGroupTitle(group: readonly [ListedFinding, ...ListedFinding[]]): string {
  const named = group.slice(0, MAX_NAMES).map(({ subject_name, subject_id }) => subject_name ?? subject_id);
  const more = group.length > MAX_NAMES ? ', …' : '';
  return `${group[0].group_key}: ${plural(group.length, group[0].subject_type)} (${named.join(', ')}${more})`;
}

/** `open`, `accepted until 2027-03-31`, `new 2, open 38`; a `?` marks a state that could not be assessed again. */
function formatStates(group: readonly ListedFinding[]): string {
  const counts = new Map<string, number>();
  for (const finding of group) counts.set(formatState(finding), (counts.get(formatState(finding)) ?? 0) + 1);
  if (counts.size === 1) return [...counts.keys()].join();
  return [...counts].map(([state, count]) => `${state} ${count}`).join(', ');
}

function formatState({ state, accepted_until, unassessed_since }: ListedFinding): string {
  const until = state === 'accepted' && accepted_until ? ` until ${accepted_until.slice(0, 10)}` : '';
  return `${state}${until}${unassessed_since ? '?' : ''}`;
}
