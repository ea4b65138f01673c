import { cp, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { claimPath, WRITERS } from '../../../src/lake/statements.ts';
import { cli } from '../../helpers/cli.ts';
import type { LakeProject } from '../../helpers/lake-project.ts';
import { cleanAtEnd, tempFolder } from '../../helpers/temp.ts';
import { DAMAGES, expectSaid, fourPublishes } from './damages.ts';

/** What a damaged lake makes each command say. */

const atEnd = cleanAtEnd();
let project: LakeProject;

beforeAll(async () => {
  project = await fourPublishes(atEnd);
});

/** All commands read a lake in one way, and only restore goes on: it has every second turn. test/long has every combination. */
const TURNS = ['restore', 'verify', 'restore', 'publish', 'restore', 'close'] as const;

test.each(DAMAGES.map((damage, index) => ({ damage, name: damage.name, command: TURNS[index % TURNS.length]! })))(
  'when $name, lake $command says so, and adds nothing',
  ({ damage, command }) => expectSaid(project, damage, command),
);

test('a lake without statements, as an earlier version has written it, is read, and verify and restore say so', async () => {
  const lake = join(await tempFolder(onTestFinished), 'lake');
  await cp(project.store.name, lake, { recursive: true });
  for (const name of await readdir(join(lake, '_publishes'))) await writeFile(join(lake, '_publishes', name), '{}');
  const verified = await cli(['lake', 'verify', '--lake', lake], { cwd: project.folder });
  expect(verified).toMatchObject({ exit: 0, stdout: expect.stringContaining('all complete') });
  const folder = await tempFolder(onTestFinished);
  await cp(project.config.file, join(folder, 'tidemark.yaml'));
  const restored = await cli(['lake', 'restore', '--lake', lake], { cwd: folder });
  expect(restored).toMatchObject({ exit: 0 });
  for (const { stderr } of [verified, restored])
    expect(stderr).toContain('no publish states what the logs of this lake have');
});

test('what a publish states counts however many later ones were killed', async () => {
  const lake = join(await tempFolder(onTestFinished), 'lake');
  await cp(project.store.name, lake, { recursive: true });
  for (let killed = 5; killed < 5 + 64; killed++) await writeFile(join(lake, claimPath(killed * WRITERS)), '{}\n');
  await rm(join(lake, 'runs_changes', '_delta_log', '00000000000000000003.json'));
  const { exit, stderr } = await cli(['lake', 'verify', '--lake', lake], { cwd: project.folder });
  expect([stderr, exit]).toEqual([expect.stringContaining('and publish 4096 states version 3'), 4]);
});

test('a store that calls every number taken, and has none of them, is an error', async () => {
  const store = { ...project.store, createIfAbsent: async () => false };
  await project.night('2026-10-06T02:15:00Z');
  await expect(project.publish(store)).rejects.toMatchObject({
    code: 'REFUSED',
    message: expect.stringContaining(`${claimPath(5 * 1024)}: the store says that it exists, and that it does not`),
  });
});

test('a number that a store calls taken by what the publish itself has written is its number', async () => {
  const createIfAbsent = async (path: string, content: string) => {
    await project.store.createIfAbsent(path, content);
    return false;
  };
  await project.night('2026-10-07T02:15:00Z');
  expect(await project.publish({ ...project.store, createIfAbsent })).toMatchObject({ publish: 5 * WRITERS });
});
