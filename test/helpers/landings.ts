import { execFileSync } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config, Target } from '../../src/config/config.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { landingDirectory, type Manifest } from '../../src/landing/store.ts';
import { LandingWriter } from '../../src/landing/writer.ts';

/** The archives of a project's landings. */
export async function findArchives(folder: string): Promise<readonly string[]> {
  const landing = join(folder, 'data', 'landing');
  const names = await readdir(landing, { recursive: true });
  return names.filter((name) => name.endsWith('landing.tar')).map((name) => join(landing, name));
}

/** Unpacks all landings as a user would, and removes the archives: landings had this form before they were packed. */
export async function unpackLandings(folder: string): Promise<void> {
  for (const archive of await findArchives(folder)) {
    const directory = dirname(archive);
    execFileSync('tar', ['-xf', archive, '-C', directory]);
    const compressed = (await readdir(directory)).filter((name) => name.endsWith('.gz'));
    if (compressed.length > 0) execFileSync('gunzip', compressed, { cwd: directory });
    await rm(archive);
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
  const landing = new LandingWriter({
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
