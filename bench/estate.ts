import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Wanted } from './prepare.ts';
import { startHelper } from './processes.ts';

/** Makes the files of a view, in a process that then ends. */
export async function prepare(wanted: Wanted): Promise<void> {
  const helper = startHelper('prepare');
  await helper.ask(wanted);
  await helper.stop();
}

/** Lets `work` use the address where the files below `root` are served. */
export async function serving<T>(root: string, work: (url: string) => Promise<T>): Promise<T> {
  const helper = startHelper('serve');
  try {
    const { url } = await helper.ask<{ readonly url: string }>({ root });
    return await work(url);
  } finally {
    await helper.stop();
  }
}

/** A folder with a `tidemark.yaml` for a night of served files. */
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
