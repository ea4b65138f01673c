import { existsSync } from 'node:fs';
import { mkdir, readdir, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openQuerySession } from '../../src/ask/query/session.ts';
import { loadConfig } from '../../src/config/config.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { emptyProject, publishWarehouse } from '../helpers/findings-command.ts';
import { cleanAtEnd } from '../helpers/temp.ts';

const atEnd = cleanAtEnd();

/** How often this process has a file of the folder open. */
async function countOpen(folder: string): Promise<number> {
  const handles = await readdir('/proc/self/fd');
  const paths = await Promise.all(handles.map((handle) => readlink(`/proc/self/fd/${handle}`).catch(() => '')));
  return paths.filter((path) => path.startsWith(folder)).length;
}

const hasDescriptors = existsSync('/proc/self/fd');
if (!hasDescriptors) console.warn('open files are not counted: this system has no /proc/self/fd');

test.skipIf(!hasDescriptors)('a session that cannot begin leaves nothing open', async () => {
  const folder = await emptyProject(atEnd);
  await publishWarehouse(folder, atEnd, async (warehouse) => {
    await warehouse.pull('2026-11-18T02:15:00Z', 'acme', 'workspaces', { workspaces: [] });
  });
  await mkdir(join(folder, 'queries', 'warehouse'), { recursive: true });
  await writeFile(join(folder, 'queries', 'warehouse', 'semver_key.sql'), 'broken\n');
  const { data, directory, sql } = loadConfig(join(folder, 'tidemark.yaml'), {}, new Redactor(), {
    needsSecrets: false,
  });
  const config = { data, directory, sql: { ...sql, timeout: 3_600 } };
  const asOf = new Date('2026-11-19T00:00:00Z');
  await expect(openQuerySession({ config, asOf, signal: new AbortController().signal })).rejects.toThrow('broken');
  expect(await countOpen(data)).toBe(0);
});

test('a query that fails after its first rows is no whole result, and says why', async () => {
  const folder = await emptyProject(atEnd);
  await publishWarehouse(folder, atEnd, async () => {});
  const config = loadConfig(join(folder, 'tidemark.yaml'), {}, new Redactor(), { needsSecrets: false });
  const session = await openQuerySession({ config, signal: new AbortController().signal });
  const failing = `select case when range < $last::int then range else error('no more') end as n from range(1000000)`;
  const count = async (params: Readonly<Record<string, string>>) => {
    let rows = 0;
    for await (const part of (await session.prepare(failing, params)).rows()) rows += part.length;
    return rows;
  };
  try {
    await expect(count({ last: '900000' })).rejects.toMatchObject({
      code: 'DATA',
      message: expect.stringMatching(/no more$/u),
    });
    expect(await count({ last: '1000000' })).toBe(1_000_000);
  } finally {
    await session.close();
  }
});
