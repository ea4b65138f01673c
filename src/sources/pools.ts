import { platform } from '../services/platform/operations.ts';
import { fetchPages, type SnapshotPage } from './shared/snapshot-pages.ts';
import type { ExtractContext } from './source.ts';

/** Rows a page: the platform's maximum (live-services.md A2). */
export const PAGE_SIZE = 100;

/** The organization's agent pools, asked for afresh. */
export function fetchPools(run: ExtractContext): Promise<readonly SnapshotPage[]> {
  return fetchPages(run, platform['agent-pools'].list, { 'page[size]': PAGE_SIZE });
}
