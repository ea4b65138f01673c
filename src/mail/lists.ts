import { headerText } from '../core/mail-address.ts';
import { formatNumber } from '../render/format.ts';
import { ageOf } from '../render/page.ts';
import type { Plain, Row } from '../warehouse/values.ts';
import type { DigestData } from './read.ts';

/** Findings of one cause. */
export interface Line {
  readonly severity: string;
  readonly title: string;
  readonly where: string;
  readonly since: string;
  /** What else its life says, with a comma in front. */
  readonly more: string;
}

export interface List {
  readonly lines: readonly Line[];
  /** `5`, or `1,312 (20 of 45 lines)`: findings, and how much of them is shown. */
  readonly count: string;
  readonly total: number;
  readonly cut: boolean;
  /** Whether every finding stands here by name. */
  readonly whole: boolean;
}

const LONGEST_TITLE = 160;
const NAMED = 3;

export function listOf(data: DigestData, news: 'new' | 'open' | 'resolved', most: number): List {
  const rows = data.causes.filter((row) => row.news === news);
  const causes = Number(rows[0]?.causes ?? 0);
  const total = data.counts[news];
  const shown = rows.slice(0, most);
  const cut = causes > shown.length;
  return {
    lines: shown.map(lineOf),
    count: cut ? `${formatNumber(total)} (${shown.length} of ${formatNumber(causes)} lines)` : formatNumber(total),
    total,
    cut,
    whole: !cut && rows.every(({ size }) => Number(size) <= NAMED),
  };
}

function lineOf(row: Row): Line {
  const { news, severity, target, rule, opened_at, size } = row;
  const again = Number(row.times_reopened) > 0 ? `, came back ${times(Number(row.times_reopened))}` : '';
  const doubt = Number(row.unassessed) > 0 ? ', not assessed by the last pull' : '';
  return {
    severity: String(severity),
    title: headerText(Number(size) > 1 ? groupTitle(row) : String(row.title), LONGEST_TITLE),
    where: headerText(`${target}: ${rule}`, LONGEST_TITLE),
    since: `${news === 'resolved' ? 'was open ' : ''}since ${String(opened_at).slice(0, 10)}`,
    more: `${again}${doubt}`,
  };
}

function groupTitle({ group_key, subject_type, size, names }: Row): string {
  const named = (names as readonly Plain[]).map((name) => headerText(String(name), 40)).join(', ');
  const more = Number(size) > NAMED ? ', …' : '';
  return `${headerText(String(group_key), 60)}: ${formatNumber(Number(size))} ${subject_type}s (${named}${more})`;
}

function times(count: number): string {
  return count === 1 ? 'once' : `${formatNumber(count)} times`;
}

/** What has been open the longest, for digests of a long time. */
export interface OldLine {
  readonly age: string;
  readonly severity: string;
  readonly title: string;
  readonly where: string;
}

export function oldestOf(data: DigestData, asOf: Date, most: number): readonly OldLine[] {
  return data.oldest.slice(0, most).map(({ severity, target, rule, title, opened_at }) => ({
    age: ageOf(asOf.getTime() - Date.parse(String(opened_at))),
    severity: String(severity),
    title: headerText(String(title), LONGEST_TITLE),
    where: headerText(`${target}: ${rule}`, LONGEST_TITLE),
  }));
}
