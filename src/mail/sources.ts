import { headerText } from '../core/mail-address.ts';
import { formatTime } from '../render/format.ts';
import { ageOf } from '../render/page.ts';
import type { Row } from '../warehouse/values.ts';

export interface SourcesView {
  readonly complete: number;
  readonly total: number;
  /** Those that are stale, one line for those of a target that failed together. */
  readonly stale: readonly StaleLine[];
  readonly staleMore: number;
}

interface StaleLine {
  /** `acme: agents, workspaces` */
  readonly sources: string;
  readonly state: string;
  readonly error: string;
}

export function sourcesView(rows: readonly Row[], asOf: Date, most: number): SourcesView {
  const stale = rows.filter((row) => row.stale === true);
  const groups = new Map<string, Row[]>();
  for (const row of stale) {
    const together = JSON.stringify([row.target, row.status, row.as_of]);
    groups.set(together, [...(groups.get(together) ?? []), row]);
  }
  return {
    total: rows.length,
    complete: rows.length - stale.length,
    stale: [...groups.values()].slice(0, most).map((group) => lineOf(group, asOf)),
    staleMore: Math.max(0, groups.size - most),
  };
}

function lineOf(group: readonly Row[], asOf: Date): StaleLine {
  const [{ target, status, as_of } = {}] = group;
  const names = group.flatMap(({ source }) => (source === null ? [] : [String(source)]));
  const errors = new Set(group.flatMap(({ error }) => (typeof error === 'string' ? [error] : [])));
  const [error = ''] = errors;
  return {
    sources: headerText(names.length === 0 ? String(target) : `${target}: ${names.join(', ')}`, 200),
    state:
      typeof as_of === 'string'
        ? `${status}; data of ${formatTime(as_of)} UTC, ${age(as_of, asOf)} old`
        : String(status),
    error: headerText(`${error}${errors.size > 1 ? '; …' : ''}`, 200),
  };
}

function age(from: string, asOf: Date): string {
  return ageOf(asOf.getTime() - Date.parse(from));
}
