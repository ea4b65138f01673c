import { cp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { claimPath, WRITERS } from '../../../src/lake/statements.ts';
import { cli } from '../../helpers/cli.ts';
import { type LakeProject, lakeProject } from '../../helpers/lake-project.ts';
import { type Cleanup, tempFolder } from '../../helpers/temp.ts';

const HEALTH = 'insert into autoscaler_health_history (target, alive, valid_from, valid_to) values';

/** A lake of four publishes, and a night that is not published. */
export async function fourPublishes(cleanup: Cleanup): Promise<LakeProject> {
  const project = await lakeProject({ tables: 'few', cleanup });
  for (const day of ['01', '02', '03', '04']) {
    const time = `2026-10-${day}T02:15:00Z`;
    await project.night(time, `${HEALTH} ('scaler-${day}', true, '${time}', null)`);
    await project.publish();
  }
  await project.night('2026-10-05T02:15:00Z');
  return project;
}

const version = (number: number): string => `_delta_log/${String(number).padStart(20, '0')}.json`;

async function editText(file: string, edit: (text: string) => string): Promise<void> {
  await writeFile(file, edit(await readFile(file, 'utf8')));
}

const HEALTH_TABLE = 'autoscaler_health_changes';

export interface Damage {
  readonly name: string;
  /** @param lake the folder of a copy of the lake */
  readonly make: (lake: string) => Promise<unknown>;
  /** What each command says. */
  readonly says: RegExp;
  /** Where a rest of the lake cannot be read at all, restore makes nothing. @default 1 */
  readonly restoreExit?: number;
}

export const DAMAGES: readonly Damage[] = [
  {
    name: 'the first commit of a table is gone',
    make: (lake) => rm(join(lake, HEALTH_TABLE, version(0))),
    says: /autoscaler_health_changes lacks version 0 of its log/u,
  },
  {
    name: 'commits in the middle of a log are gone',
    make: async (lake) => {
      await rm(join(lake, HEALTH_TABLE, version(1)));
      await rm(join(lake, HEALTH_TABLE, version(2)));
    },
    says: /autoscaler_health_changes lacks version 1 to 2 of its log/u,
  },
  {
    name: 'the last commit of a table is gone',
    make: (lake) => rm(join(lake, HEALTH_TABLE, version(3))),
    says: /autoscaler_health_changes ends at version 2, and publish \d+ states version 3/u,
  },
  {
    name: 'the log of a table is gone',
    make: (lake) => rm(join(lake, HEALTH_TABLE, '_delta_log'), { recursive: true }),
    says: /autoscaler_health_changes is gone: publish \d+ states 4 rows in 4 files/u,
  },
  {
    name: 'the folder of a table is gone',
    make: (lake) => rm(join(lake, HEALTH_TABLE), { recursive: true }),
    says: /autoscaler_health_changes is gone: publish \d+ states 4 rows in 4 files/u,
  },
  {
    name: 'the last commit of the runs is gone',
    make: (lake) => rm(join(lake, 'runs_changes', version(3))),
    says: /runs_changes ends at version 2, and publish \d+ states version 3/u,
  },
  {
    name: 'the first commit of the runs is gone',
    make: (lake) => rm(join(lake, 'runs_changes', version(0))),
    says: /runs_changes lacks version 0 of its log/u,
    restoreExit: 4,
  },
  {
    name: 'the folder of the runs is gone',
    make: (lake) => rm(join(lake, 'runs_changes'), { recursive: true }),
    says: /runs_changes is gone: publish \d+ states 4 rows in 4 files/u,
    restoreExit: 4,
  },
  {
    name: 'a table is a link to an empty folder',
    make: async (lake) => {
      await rm(join(lake, HEALTH_TABLE), { recursive: true });
      await symlink(await tempFolder(onTestFinished), join(lake, HEALTH_TABLE));
    },
    says: /autoscaler_health_changes is a link, and a lake has none/u,
    restoreExit: 4,
  },
  {
    name: 'a log is a link to where it was moved',
    make: async (lake) => {
      await rename(join(lake, HEALTH_TABLE, '_delta_log'), join(lake, '_moved'));
      await symlink(join(lake, '_moved'), join(lake, HEALTH_TABLE, '_delta_log'));
    },
    says: /autoscaler_health_changes\/_delta_log is a link, and a lake has none/u,
    restoreExit: 4,
  },
  {
    name: 'a commit is empty',
    make: (lake) => writeFile(join(lake, HEALTH_TABLE, version(2)), ''),
    says: /autoscaler_health_changes\/_delta_log\/0+2\.json is not a commit/u,
  },
  {
    name: 'half of a commit is there',
    make: (lake) => editText(join(lake, HEALTH_TABLE, version(2)), (text) => text.slice(0, text.length / 2)),
    says: /autoscaler_health_changes\/_delta_log\/0+2\.json is not a commit/u,
  },
  {
    name: 'a commit names its file no longer',
    make: (lake) => editText(join(lake, HEALTH_TABLE, version(3)), (text) => text.replace(/\{"add".*\n/u, '')),
    says: /autoscaler_health_changes has 3 rows in 3 files, and publish \d+ states 4 rows in 4 files/u,
  },
  {
    name: 'a commit names a file as no file system can',
    make: (lake) => editText(join(lake, HEALTH_TABLE, version(2)), (text) => text.replace(/"path":"[\w-]+/u, '$&%00')),
    says: /autoscaler_health_changes\/_delta_log\/0+2\.json is not a commit/u,
  },
  {
    name: 'a last checkpoint is named that is not there',
    make: (lake) => writeFile(join(lake, HEALTH_TABLE, '_delta_log', '_last_checkpoint'), '{"version": 1, "size": 1}'),
    says: /autoscaler_health_changes\/_delta_log\/0+1\.checkpoint\.parquet is missing or damaged/u,
  },
  {
    name: 'a publish states a table beside the lake',
    make: (lake) =>
      editText(join(lake, claimPath(4 * WRITERS)), (text) => text.replace(HEALTH_TABLE, `../${HEALTH_TABLE}`)),
    says: /_publishes\/0+4096\.json is not the statement of a publish/u,
    restoreExit: 4,
  },
  {
    name: 'the numbers that publishes have taken are gone',
    make: (lake) => rm(join(lake, '_publishes'), { recursive: true }),
    says: /runs_changes has publish \d+, and _publishes\/\d+\.json is gone/u,
  },
];

export type LakeCommand = 'verify' | 'restore' | 'publish' | 'close';

/** The command says what a copy of the lake lacks, and adds nothing to it. */
export async function expectSaid(
  project: LakeProject,
  { make, says, restoreExit = 1 }: Damage,
  command: LakeCommand,
): Promise<void> {
  const exit = command === 'restore' ? restoreExit : 4;
  const lake = join(await tempFolder(onTestFinished), 'lake');
  await cp(project.store.name, lake, { recursive: true });
  await make(lake);
  const before = await readdir(lake, { recursive: true });
  const folder = command === 'restore' ? await tempFolder(onTestFinished) : project.folder;
  if (command === 'restore') await cp(project.config.file, join(folder, 'tidemark.yaml'));
  const words = command === 'close' ? ['--shards', '1', '--run', 'closing'] : [];
  const ended = await cli(['lake', command, '--lake', lake, ...words], { cwd: folder });
  expect([ended.stderr, ended.exit]).toEqual([expect.stringMatching(says), exit]);
  expect(await readdir(lake, { recursive: true }), 'nothing is added').toEqual(before);
  if (exit === 1) expect(ended.stderr).toContain('the warehouse has less than was published');
}
