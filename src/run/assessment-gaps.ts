import type { Config } from '../config/config.ts';
import type { Severity } from '../core/choices.ts';
import { hasSource } from '../extract/sources/source.ts';
import { atOrAbove, type Rule } from '../tell/findings/rules.ts';
import type { OpenWarehouse } from '../warehouse/session.ts';
import { loadDefinitions } from './plugins/index.ts';

/** An open warehouse, and the targets and rules of interest. */
export interface AssessedView extends OpenWarehouse {
  readonly config: Config;
  /** ISO 8601. */
  readonly now: string;
  readonly targets: readonly string[];
  readonly rules: readonly Rule[];
}

/** Why findings of this severity may be missing: incomplete sources, rules without an assessment, targets or sources never pulled. */
export async function findAssessmentGaps(view: AssessedView, severity: Severity): Promise<readonly string[]> {
  const { database, files, config, now, rules } = view;
  const relevant = rules.filter(({ worst }) => atOrAbove(severity).includes(worst));
  const requiredSources = new Set(relevant.flatMap((rule) => [...rule.sources, ...rule.elsewhere]));
  const definitions = await loadDefinitions(config, {}, () => false);
  const needed = definitions.sources.filter(({ name }) => requiredSources.has(name));
  const targets = config.targets
    .filter(({ name }) => view.targets.includes(name))
    .map((target) => ({
      target: target.name,
      sources: needed.filter((source) => hasSource(target, source)).map(({ name }) => name),
    }));
  const rows = await database.rows(files.read('warehouse/unassessed'), {
    now,
    targets: JSON.stringify(targets.filter(({ sources }) => sources.length > 0)),
    stale_hours: config.thresholds.staleHours,
    rules: JSON.stringify(relevant.map(({ name: rule, sources, elsewhere }) => ({ rule, sources, elsewhere }))),
  });
  return rows.map(({ target, reason }) => `${target}: ${reason}`);
}
