import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { PrepareRequest } from './prepare.ts';
import { startHelper } from './processes.ts';

/** Creates the files of a view in a separate process. */
export async function prepare(request: PrepareRequest): Promise<void> {
  const helper = startHelper('prepare');
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

/** Writes a configuration for the files of one day. */
export async function writeConfig(
  folder: string,
  name: string,
  target: { readonly url: string; readonly token?: string; readonly explorer?: 'json' },
): Promise<string> {
  await mkdir(folder, { recursive: true });
  const file = join(folder, `${name}.yaml`);
  const platform = { name: 'acme', kind: 'platform', organization: 'acme', token: 'not-asked-for', ...target };
  await writeFile(file, stringify({ data: './data', output: './out', targets: [platform] }));
  return file;
}
