import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Config, Target } from '../../src/config/config.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { landingDirectory, type Manifest } from '../../src/landing/store.ts';
import { createLandingWriter } from '../../src/landing/writer.ts';

/** Writes the content of each landed file beside it, under its name without `.gz`. */
export async function unpackLandings(folder: string): Promise<void> {
  const landing = join(folder, 'data', 'landing');
  const names = (await readdir(landing, { recursive: true })).filter((name) => /\.gz(?:\.rejected)?$/u.test(name));
  for (const name of names) {
    const content = gunzipSync(await readFile(join(landing, name)));
    await writeFile(join(landing, name.replace('.gz', '')), content);
  }
}

export type LandedLines = readonly Readonly<Record<string, string | number>>[];

/** Lands lines of JSON for a source of a target. */
export async function landLines(
  config: Config,
  { runId, target, source }: { readonly runId: string; readonly target: string; readonly source: string },
  lines: LandedLines,
): Promise<Manifest> {
  const mounts = { keymgmt: 'keymgmt', mesh: 'mesh' };
  const landing = createLandingWriter({
    directory: landingDirectory(config, runId, target),
    source,
    target: { name: target, url: 'http://127.0.0.1:1', mounts, services: [] } as unknown as Target,
    runId,
    asOf: '2026-11-01T02:15:00.000Z',
    redactor: new Redactor(),
  });
  for (const line of lines) await landing.writeJson(line);
  return landing.commit();
}
