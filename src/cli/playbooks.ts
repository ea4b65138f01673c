import type { Playbook } from '../act/define.ts';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import type { PlaybookSummary } from '../tell/findings/guide.ts';
import { readConfig } from './options.ts';

/** The configuration and all playbooks, which are validated before any is used. */
export async function readPlaybooks(
  context: Context,
): Promise<{ readonly config: Config; readonly playbooks: readonly Playbook[] }> {
  const config = readConfig(context);
  const [{ loadDefinitions }, { loadPlaybooks }] = await loadModules();
  const { playbooks } = await loadDefinitions(config);
  return { config, playbooks: await loadPlaybooks(config, playbooks) };
}

/** What pages and mail say of the playbooks. */
export async function listPlaybooks(config: Config): Promise<readonly PlaybookSummary[]> {
  const [{ loadDefinitions }, { summarizePlaybooks }] = await loadModules();
  return summarizePlaybooks((await loadDefinitions(config, {}, () => false)).playbooks);
}

/** On demand, because the playbooks load the operations of every service. */
const loadModules = () => Promise.all([import('../run/plugins/index.ts'), import('../act/registry.ts')]);
