import { TidemarkError } from '../core/errors.ts';
import type { Manifest } from '../landing/manifest.ts';
import { landingDirectory } from '../landing/store.ts';
import type { Delta } from '../warehouse/history.ts';
import { isOutOfMemory } from '../warehouse/integrity.ts';
import { raiseMemoryLimit } from '../warehouse/memory-limit.ts';
import { loadSource } from './load.ts';
import type { PullOptions } from './pull.ts';

/** A load that needs more than loads usually get is done again with all of `memoryLimit`, and those that follow have it too. */
export async function loadLanded(
  options: PullOptions,
  manifest: Manifest,
  record: (delta: Delta) => Promise<void>,
): Promise<Delta> {
  const { warehouse, config, asOf, acceptShrink, signal } = options;
  const { shrinkPercent, memoryLimit } = config;
  const directory = landingDirectory(config, manifest.run_id, manifest.target);
  const accepted = acceptShrink.has(manifest.source);
  const given = {
    warehouse,
    manifest,
    directory,
    asOf: asOf.toISOString(),
    shrinkPercent,
    acceptShrink: accepted,
    signal,
  };
  try {
    return await loadSource(given, record);
  } catch (error) {
    if (!isOutOfMemory(error)) throw error;
    await raiseMemoryLimit(warehouse.database, warehouse.files, memoryLimit);
    return loadSource(given, record).catch((again: unknown) => {
      throw isOutOfMemory(again) ? tooLittle(memoryLimit, manifest.run_id, again) : again;
    });
  }
}

/** What landed is whole, and stays. */
function tooLittle(memoryLimit: string, runId: string, cause: unknown): TidemarkError {
  const hint = `raise \`memoryLimit\`, then load what has landed with \`tidemark pull --from ${runId}\``;
  return new TidemarkError('INCOMPLETE', `loading needs more memory than ${memoryLimit}`, { hint, cause });
}
