import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { MultiplyRequest } from './multiply.ts';
import type { PrepareRequest } from './prepare.ts';
import { startHelper } from './processes.ts';

/** Creates the files of a view in a separate process. */
export async function prepare(request: PrepareRequest): Promise<void> {
  const helper = startHelper('prepare');
  await helper.ask(request);
  await helper.stop();
}

/** Makes a prepared estate larger, in a separate process. */
export async function multiply(request: MultiplyRequest): Promise<void> {
  const helper = startHelper('multiply');
  await helper.ask(request);
  await helper.stop();
}

/** Serves the files of a folder while `work` runs. */
export async function serving<T>(root: string, work: (url: string) => Promise<T>): Promise<T> {
  const helper = startHelper('serve');
  try {
    const { url } = await helper.ask<{ readonly url: string }>({ root });
    return await work(url);
  } finally {
    await helper.stop();
  }
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

/** Writes a configuration with several targets. */
export async function writeTargets(folder: string, name: string, targets: readonly PlatformTarget[]): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${name}.yaml`);
  const platform = { name: 'acme', kind: 'platform', organization: 'acme', token: 'not-asked-for' };
  const all = targets.map((target) => ({ ...platform, ...target }));
  await writeFile(file, stringify({ data: './data', output: './out', targets: all }));
  return file;
}
