import type { Config } from '../config/config.ts';
import type { PlaybookSummary } from '../tell/reports/index.ts';

/** Loaded on demand, because the playbooks load the operations of every service. */
export async function listPlaybooks(config: Config): Promise<readonly PlaybookSummary[]> {
  const [{ loadDefinitions }, { summarizePlaybooks }] = await Promise.all([
    import('../run/plugins/index.ts'),
    import('../act/registry.ts'),
  ]);
  return summarizePlaybooks((await loadDefinitions(config, {}, () => false)).playbooks);
}
