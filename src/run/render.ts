import type { Playbook } from '../act/define.ts';
import { summarizePlaybooks } from '../act/registry.ts';
import type { Config } from '../config/config.ts';
import type { WorkContext } from '../core/context.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import { overlayRoots } from '../core/paths.ts';
import { findLeftOut } from '../extract/sources/index.ts';
import { renderReports } from '../tell/reports/index.ts';
import { classifyStorageError } from '../warehouse/integrity.ts';
import { type Warehouse, withPublished } from '../warehouse/session.ts';

/** The reports of a run. */
export interface RenderResult {
  /** Names of the reports that were written. */
  readonly written: readonly string[];
  /** Reports that could not be rendered, and why. */
  readonly failed: readonly { readonly report: string; readonly error: string }[];
}

export interface RenderStageOptions {
  /** Names of reports. */
  readonly names: readonly string[];
  readonly asOf: Date;
  readonly playbooks: readonly Playbook[];
}

/** Writes a job's reports from the published warehouse. */
export async function renderPublished(
  config: Config,
  context: WorkContext,
  options: RenderStageOptions,
): Promise<RenderResult> {
  if (options.names.length === 0) return { written: [], failed: [] };
  return withPublished(config, (published) => renderStage(config, context, published, options));
}

/** Writes a job's reports. A report that fails is logged and does not stop the others, nor the mail. */
export async function renderStage(
  config: Config,
  context: WorkContext,
  { database, files }: Pick<Warehouse, 'database' | 'files'>,
  { names, asOf, playbooks }: RenderStageOptions,
): Promise<RenderResult> {
  const failed: RenderResult['failed'][number][] = [];
  const onFailure = (report: string, error: TidemarkError) => {
    if (classifyStorageError(error)) throw error;
    context.log.error(`report ${report}: ${formatError(error)}`);
    failed.push({ report, error: formatError(error) });
  };
  if (names.length === 0) return { written: [], failed };
  try {
    const rendered = await renderReports({
      database,
      files,
      roots: overlayRoots(config.directory),
      names,
      asOf,
      generatedAt: context.clock.now(),
      out: config.output,
      thresholds: config.thresholds,
      pricing: config.pricing,
      leftOut: findLeftOut(config.targets),
      reportDays: config.reportDays,
      targets: config.targets,
      subjectPages: config.subjectPages,
      log: context.log,
      playbooks: async () => summarizePlaybooks(playbooks),
      onFailure,
    });
    return { written: rendered.map(({ name }) => name), failed };
  } catch (error) {
    if (!(error instanceof TidemarkError) || classifyStorageError(error)) throw error;
    for (const name of names) onFailure(name, error); // the failure is not one of a single report
    return { written: [], failed };
  }
}
