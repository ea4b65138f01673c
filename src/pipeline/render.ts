import type { Config } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { describe, TidemarkError } from '../core/errors.ts';
import { searchPath } from '../core/paths.ts';
import { renderReports } from '../reports/index.ts';
import { openPublished } from '../warehouse/session.ts';

/** What a run did about reports. */
export interface RenderResult {
  /** Names of the reports that were written. */
  readonly written: readonly string[];
  /** Those that could not be made, and why. */
  readonly failed: readonly { readonly report: string; readonly error: string }[];
}

/** Writes a job's reports. One that cannot be made must not cost the others, nor the mail: it is said, and the run goes on. */
export async function renderStage(
  config: Config,
  context: Context,
  names: readonly string[],
  asOf: Date,
): Promise<RenderResult> {
  const failed: RenderResult['failed'][number][] = [];
  const onFailure = (report: string, error: TidemarkError) => {
    context.log.error(`report ${report}: ${describe(error)}`);
    failed.push({ report, error: describe(error) });
  };
  if (names.length === 0) return { written: [], failed };
  const { database, files } = await openPublished(config);
  try {
    const rendered = await renderReports({
      database,
      files,
      roots: searchPath(config.directory),
      names,
      asOf,
      generatedAt: context.clock.now(),
      out: config.output,
      thresholds: config.thresholds,
      reportDays: config.reportDays,
      log: context.log,
      onFailure,
    });
    return { written: rendered.map(({ name }) => name), failed };
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    for (const name of names) onFailure(name, error); // what all of them rest on is wrong
    return { written: [], failed };
  } finally {
    database.close();
  }
}
