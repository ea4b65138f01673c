import { existsSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { MultiplyRequest } from './multiply.ts';
import type { PrepareRequest } from './prepare.ts';
import { startHelper, TIDEMARK, timed, type Usage } from './processes.ts';
import type { Bench } from './result.ts';

/**
 * Records the responses of an estate in a separate process. The parts of a run that need the same estate share it.
 * @returns its folder in `estates`
 */
export async function prepare({ estates }: Bench, { workspaces, as }: Omit<PrepareRequest, 'folder'>): Promise<string> {
  const name = `${workspaces}-${as}`;
  const folder = join(estates, name);
  if (existsSync(folder)) return name;
  const helper = startHelper('prepare');
  await helper.ask({ folder: `${folder}.part`, workspaces, as } satisfies PrepareRequest);
  await helper.stop();
  await rename(`${folder}.part`, folder);
  return name;
}

/** Makes a prepared estate larger, in a separate process. */
export async function multiply(request: MultiplyRequest): Promise<void> {
  const helper = startHelper('multiply');
  await helper.ask(request);
  await helper.stop();
}

/** Serves the recorded estates while `work` runs, each below its name. */
export async function serving<T>({ estates: root }: Bench, work: (url: string) => Promise<T>): Promise<T> {
  const helper = startHelper('serve');
  try {
    const { url } = await helper.ask<{ readonly url: string }>({ root });
    return await work(url);
  } finally {
    await helper.stop();
  }
}

export interface TwoPulls {
  readonly first: Usage;
  readonly second: Usage;
}

/** Pulls all sources of a recorded estate into a new warehouse, and again after 2 % of the rows changed. */
export async function pullTwice(project: string, url: string, way: 'csv' | 'json'): Promise<TwoPulls> {
  const first = await pullDay(project, url, 'day1', way);
  return { first, second: await pullDay(project, url, 'day2', way) };
}

/** Lets a served estate show the responses of a day. */
export async function showDay(url: string, day: string): Promise<void> {
  const { status } = await fetch(`${url}/${day}`, { method: 'PUT' });
  if (status !== 204) throw new Error(`${url} answered ${status}`);
}

export const pullDay = (project: string, url: string, day: 'day1' | 'day2', explorer: 'csv' | 'json'): Promise<Usage> =>
  runDay(project, url, day, explorer, ['pull']);

/** Runs a command on the responses of a day. */
export async function runDay(
  project: string,
  url: string,
  day: 'day1' | 'day2',
  explorer: 'csv' | 'json',
  command: readonly string[],
): Promise<Usage> {
  await showDay(url, day);
  const config = await writeConfig(project, day, { url, explorer });
  const now = `2026-11-0${day.slice(-1)}T02:15:00Z`;
  return timed(project, [TIDEMARK, '--config', config, '--quiet', '--now', now, ...command]);
}

/** A target of the platform. */
interface PlatformTarget {
  readonly name?: string;
  readonly url: string;
  readonly token?: string;
  readonly explorer?: 'csv' | 'json';
}

/** Writes a configuration for the files of one day. */
export const writeConfig = (folder: string, name: string, target: PlatformTarget): Promise<string> =>
  writeTargets(folder, name, [target]);

/** As long as those of the platform: what is received is searched for it, and a shorter one takes longer. */
const createToken = (name: string) => `${name.padEnd(14, '0')}.atlasv1.${name.padStart(67, '0')}`;

/** Many targets with the same rows. A token of its own gives each target a rate limiter of its own. */
export const manyTargets = (url: string, count: number): readonly PlatformTarget[] =>
  Array.from({ length: count }, (_, index) => ({ name: `acme-${index}`, url, token: createToken(`target${index}`) }));

/** Writes a configuration with several targets. */
export async function writeTargets(
  folder: string,
  name: string,
  targets: readonly PlatformTarget[],
  options: { readonly lake?: string } = {},
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${name}.yaml`);
  const platform = { name: 'acme', kind: 'platform', organization: 'acme', token: createToken('nobody') };
  const all = targets.map((target) => ({ ...platform, ...target }));
  await writeFile(file, stringify({ data: './data', output: './out', ...options, targets: all }));
  return file;
}
