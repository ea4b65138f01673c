import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../core/config.ts';
import { landingDirectory, listLandings } from '../landing/store.ts';

/** A run that has begun and whose end nobody has seen. */
export interface InFlightRun {
  readonly run_id: string;
  readonly job: string;
  /** ISO 8601. */
  readonly started_at: string;
}

/** Stands in a run's landing while it runs; what a killed run leaves is how the next one knows of it. */
const MARK = 'unfinished.json';

export async function markInFlight(config: Config, run: InFlightRun): Promise<void> {
  const directory = landingDirectory(config, run.run_id);
  await mkdir(directory, { recursive: true });
  await writeFile(join(directory, MARK), `${JSON.stringify(run)}\n`);
}

/** Runs of a job that were cut short, oldest first. */
export async function listInFlight(config: Config, job: string): Promise<readonly InFlightRun[]> {
  const marks = (await listLandings(config)).map((run) => join(landingDirectory(config, run), MARK));
  const runs = await Promise.all(marks.filter((mark) => existsSync(mark)).map(readMark));
  return runs.filter((run) => run?.job === job) as InFlightRun[];
}

async function readMark(file: string): Promise<InFlightRun | null | undefined> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as InFlightRun | null;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined; // killed while it was written: nothing had landed
    throw error;
  }
}

/** A job that came to its end has nothing left to continue. */
export async function clearInFlight(config: Config, runs: readonly InFlightRun[]): Promise<void> {
  for (const { run_id } of runs) await rm(join(landingDirectory(config, run_id), MARK), { force: true });
}
