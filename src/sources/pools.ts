import { platform } from '../services/platform.ts';
import { readPages, type SetPage } from './pages.ts';
import type { Extraction } from './source.ts';

/** Rows a page: the platform's maximum (live-services.md A2). */
export const PAGE_SIZE = 100;

/** The organization's agent pools, asked for afresh. */
export function askPools(run: Extraction): Promise<readonly SetPage[]> {
  return readPages(run, platform['agent-pools'].list, { 'page[size]': PAGE_SIZE });
}
