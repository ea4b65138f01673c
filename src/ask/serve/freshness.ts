import { EMPTY_CELL, formatAge, formatTime, truncate } from '../../tell/reports/format.ts';
import type { Exchange } from './route.ts';
import { readRows, shownTime, type TextRow } from './rows.ts';

/** What a page shows of the state of one source of one target. */
export interface SourceFreshness {
  readonly target: string;
  readonly source: string;
  /** `fresh`, `stale` or `unknown`: never pulled completely. */
  readonly state: string;
  readonly status: string;
  readonly asOf: string;
  readonly age: string;
  readonly error: string;
}

/** The states of all sources at the time of the page, the stale ones first. */
export async function readSources(exchange: Exchange): Promise<readonly SourceFreshness[]> {
  const at = shownTime(exchange);
  const rows = await readRows(exchange, await exchange.files.read('serve/sources'), {
    as_of: at.toISOString(),
    staleness_at: at.toISOString(),
    stale_hours: String(exchange.config.thresholds.staleHours),
  });
  return rows.map((row) => toSourceView(row, at));
}

function toSourceView({ target, source, status, as_of, stale, error }: TextRow, at: Date): SourceFreshness {
  return {
    target: target ?? '',
    source: source ?? '',
    state: as_of === null || as_of === undefined ? 'unknown' : stale === 'true' ? 'stale' : 'fresh',
    status: status ?? '',
    asOf: as_of ? formatTime(as_of) : EMPTY_CELL,
    age: as_of ? formatAge(at.getTime() - Date.parse(as_of)) : '',
    error: truncate(error ?? ''),
  };
}

/** The worst state: what is not known to be fresh is not fresh. */
export function worstState(sources: readonly Pick<SourceFreshness, 'state'>[]): string {
  if (sources.length === 0 || sources.some(({ state }) => state === 'unknown')) return 'unknown';
  return sources.some(({ state }) => state === 'stale') ? 'stale' : 'fresh';
}
