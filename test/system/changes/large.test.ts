import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { buildCommand, type CommandExit, startCommand } from '../../helpers/built-command.ts';
import { openCopy } from '../../helpers/prepared.ts';
import { tempFolder } from '../../helpers/temp.ts';

const POLICIES = 15_000;
/** A heap that holds half of the texts. */
const ENV = { NODE_OPTIONS: '--max-old-space-size=64' };
const CONFIG = `memoryLimit: 160MB
targets: [{ name: nomad, kind: scheduler, url: "https://tidemark.test", token: "x" }]
`;

let command: string;
beforeAll(async () => {
  command = await buildCommand();
});

/** Two nights between which every policy changed: 120 MB of old and new texts. */
async function prepareNights(): Promise<string> {
  const folder = await tempFolder();
  await mkdir(join(folder, 'data'));
  await writeFile(join(folder, 'tidemark.yaml'), CONFIG);
  const database = await openCopy(join(folder, 'data', 'warehouse.duckdb'));
  const [first, second] = ["timestamptz '2026-11-01T02:15:00Z'", "timestamptz '2026-11-02T02:15:00Z'"];
  for (const [night, from, to] of [
    ['1', first, second],
    ['2', second, 'null'],
  ]) {
    await database.run(`insert into pulls by name select 'run-${night}' as run_id, 'nomad' as target, 'acl_policies' as source,
      'complete' as status, ${from} as started_at, ${from} as as_of`);
    await database.run(`insert into acl_policies_history by name select 'nomad' as target, 'p' || i as name, 1 as create_index,
      repeat(md5(i || '-${night}'), 128) as rules, ${from} as valid_from, ${to} as valid_to from range(${POLICIES}) as r(i)`);
  }
  await database.run('checkpoint');
  database.close();
  return folder;
}

test('a difference that is larger than the memory of the process is printed in every form', async () => {
  const folder = await prepareNights();
  const diff = (...words: string[]): Promise<CommandExit> =>
    startCommand(command, ['diff', ...words], folder, ENV).ended;
  const count = (text: string, part: RegExp) => text.match(part)?.length;
  const json = await diff('--json');
  expect({ exit: json.exit, stderr: json.stderr }).toEqual({ exit: 0, stderr: '' });
  expect(count(json.stdout, /^ {4}"column": "rules"/gmu)).toBe(POLICIES);
  expect(count((await diff()).stdout, /^ {6}~ rules: /gmu)).toBe(POLICIES);
  expect(count((await diff('--format', 'markdown')).stdout, /^- \*\*changed\*\*/gmu)).toBe(POLICIES);
  expect((await diff('--stat')).stdout).toContain(`${POLICIES} changed`);
});
