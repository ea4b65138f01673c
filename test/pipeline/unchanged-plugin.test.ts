import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { buildCommand } from '../helpers/built-command.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';
import { change, pullAt, scheduler } from './pull-again.ts';

test('a source of a plugin declares in one line what proves its objects unchanged', async () => {
  const place = await testProject({ workspaces: 5 });
  await addPlugin(place);
  const words = ['--source', 'policy_names'];
  await pullAt(place, '01T02:15:00', words);
  const changed = change(place, scheduler(place).policies.get('anonymous'), { description: 'changed' });
  const { reads, reused } = await pullAt(place, '02T02:15:00', words);
  expect(reads).toEqual([changed.name]);
  expect(reused).toEqual({ policy_names: scheduler(place).policies.size - 1 });
  const [counted] = await place.rows(
    `select requests, bytes > 0 as has_bytes from pulls where source = 'policy_names' order by run_id desc limit 1`,
  );
  expect(counted, 'the list and the object that changed').toEqual({ requests: 2, has_bytes: true });
  expect(await place.rows('select count(*) as n from policy_names')).toEqual([{ n: scheduler(place).policies.size }]);
  expect(await place.rows(`select description, about from policy_names where name = 'anonymous'`)).toEqual([
    { description: 'changed', about: 'policy anonymous' },
  ]);
});

test('a changed file that a plugin imports makes everything be read', async () => {
  const place = await testProject({ workspaces: 5 });
  await addPlugin(place, "import './prefix.mjs';");
  const words = ['--source', 'policy_names'];
  const change = (text: string) => writeFile(join(place.folder, 'prefix.mjs'), `import './part/names.mjs'; ${text}`);
  await mkdir(join(place.folder, 'part'));
  await writeFile(join(place.folder, 'part', 'names.mjs'), '');
  await change('');
  await pullAt(place, '01T02:15:00', words);
  const size = scheduler(place).policies.size;
  expect((await pullAt(place, '02T02:15:00', words)).reused).toEqual({ policy_names: size });
  await change('// another');
  expect((await pullAt(place, '03T02:15:00', words)).reused).toEqual({ policy_names: 0 });
  await writeFile(join(place.folder, 'part', 'names.mjs'), '// another');
  expect((await pullAt(place, '04T02:15:00', words)).reused).toEqual({ policy_names: 0 });
});

/** A plugin whose source reads policies one by one. */
async function addPlugin(place: TestProject, imports = '') {
  const library = pathToFileURL(join(await buildCommand(), '..', '..', 'dist', 'index.js')).href;
  await writeFile(
    join(place.folder, 'plugin.mjs'),
    `${imports}
import { definePlugin, scheduler } from ${JSON.stringify(library)};
export default definePlugin({ sources: [{
  name: 'policy_names',
  kind: 'scheduler',
  unchanged: { list: 'ModifyIndex' },
  extract: async ({ client, objects, forEachLimited }) => {
    const items = (await client.call(scheduler.policies.list)).json();
    const reader = await objects({ name: 'policies', objects: items.map((item) => ({ key: item.Name, item })) });
    await forEachLimited(items, ({ Name: name }) => reader.land(name, {
      fields: { name },
      read: (options) => client.call(scheduler.policies.read, { policy_name: name }, options),
      check: (response) => { if (response.json().Name !== name) throw new Error('of another policy'); },
      derive: (response) => ({ about: 'policy ' + response.json().Name }),
    }));
  },
  checkAccess: (client) => client.call(scheduler.policies.list),
}] });
`,
  );
  const folder = join(place.folder, 'queries');
  await mkdir(join(folder, 'tables'), { recursive: true });
  await mkdir(join(folder, 'load'));
  await writeFile(
    join(folder, 'tables', 'policy_names.sql'),
    `-- grain: one row per policy
-- key: name
-- source: policy_names
create table if not exists policy_names_history (
  target varchar not null, -- name of the target in tidemark.yaml
  name varchar, -- name
  description varchar, -- description
  about varchar, -- what follows from the response
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
`,
  );
  await writeFile(
    join(folder, 'load', 'policy_names.sql'),
    `-- grain: one row per policy
select name, body ->> 'Description' as description, about,
from read_json($files, format = 'newline_delimited', columns = {name: 'VARCHAR', about: 'VARCHAR', body: 'JSON'}, maximum_object_size = $longest_line)
`,
  );
  await place.configure((config) => Object.assign(config, { plugins: ['./plugin.mjs'] }));
}
