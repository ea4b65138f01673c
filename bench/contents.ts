import { appendFile, link, mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CSV_WORKSPACES, compareHistory, measureRounds, rowCount } from './dlt.ts';
import { prepare, serving } from './estate.ts';
import { installDlt } from './peers/install.ts';
import { exportPath, findRecorded, readBody, readIndex } from './recorded.ts';
import type { Part, Result } from './result.ts';

/** What the part `dlt` measures depends on what an estate contains beside its workspaces. */
export const contents: Part = {
  name: 'contents',
  about: 'the CSV pulls of the part `dlt` with less beside the workspaces',
  async measure(bench) {
    const python = await installDlt(bench.log);
    const workspaces = CSV_WORKSPACES[bench.size];
    const estate = await prepare(bench, { workspaces, as: 'csv' });
    for (const name of ['one-view', 'short-lists'] as const) {
      const changes = name === 'one-view' ? ONE_VIEW : SHORT_LISTS;
      for (const day of ['day1', 'day2'])
        await copyDay(join(bench.estates, estate, day), join(bench.estates, `${estate}-${name}`, day), changes);
    }
    return serving(bench, async (url) => {
      const measure = async (name: string, what: string): Promise<readonly Result[]> => {
        const rounds = await measureRounds(bench, { python, url: `${url}/${estate}-${name}`, way: 'csv' });
        return compareHistory(`${rowCount(workspaces)}, ${what}`, rounds);
      };
      return [
        ...(await measure('one-view', 'one small saved view')),
        ...(await measure('short-lists', 'and each list of workspaces has three names')),
      ];
    });
  },
};

type Changes = Readonly<Record<string, (body: string) => string>>;

/** A saved view of the sandbox with a few rows: dlt fails where no view has any. */
const KEPT = 'Private modules';

const ONE_VIEW: Changes = {
  '/api/v2/organizations/acme/explorer/views': (body) => {
    const { data } = JSON.parse(body) as { data: readonly { readonly attributes: { readonly name: string } }[] };
    return JSON.stringify({ data: data.filter(({ attributes }) => attributes.name === KEPT) });
  },
};

const shortenLists = (csv: string) => csv.replaceAll(/"([^",]+, [^",]+, [^",]+), [^"]+"/gu, '"$1"');

const SHORT_LISTS: Changes = {
  ...ONE_VIEW,
  ...Object.fromEntries(
    (['tf_versions', 'providers', 'modules'] as const).map((view) => [exportPath(view), shortenLists]),
  ),
};

/** Copies a day of an estate with other bodies of some responses. Both have one file of bodies, at whose end the others are. */
async function copyDay(from: string, to: string, changes: Changes): Promise<void> {
  await mkdir(to, { recursive: true });
  const bodies = join(to, 'bodies');
  await link(join(from, 'bodies'), bodies);
  const index = await readIndex(from);
  for (const [path, change] of Object.entries(changes)) {
    const recorded = findRecorded(index, path);
    const body = change(await readBody(from, recorded));
    const { size: start } = await stat(bodies);
    await appendFile(bodies, body);
    index[path] = { ...recorded, start, bytes: Buffer.byteLength(body) };
  }
  await writeFile(join(to, 'index.json'), JSON.stringify(index));
}
