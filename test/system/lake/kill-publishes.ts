import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { buildModules } from '../../helpers/built-modules.ts';
import { type LakeProject, lakeProject } from '../../helpers/lake-project.ts';

const PROGRAM = join(PACKAGE_ROOT, 'test', 'helpers', 'publish-until.js');

/** Each night adds one row to each of these. */
const TABLES = ['runs', 'autoscaler_health', 'findings', 'finding_events', 'pulls'];

interface KillOptions {
  /** Begins with the publish that creates the lake. */
  readonly isFirst: boolean;
  /** A kill comes before each write of this distance. @default 1 */
  readonly step?: number;
}

/**
 * Kills publishes, one before each of their writes and from the first again for the next night, until there were `kills`. After each
 * one, readers see all tables of the same nights, and what they saw before or one more. In the end the lake has everything.
 */
export async function killPublishes(kills: number, { isFirst, step = 1 }: KillOptions): Promise<void> {
  const modules = await buildModules();
  const project = await lakeProject({ tables: 'few' });
  let nights = 0;
  const addNight = () => night(project, ++nights);
  await addNight();
  if (!isFirst) await project.publish();
  let seen = isFirst ? 0 : 1;
  let killed = 0;
  for (let write = 1; killed < kills; write += step) {
    if (nights === seen) {
      await addNight();
      write = 1;
    }
    const isKilled = runUntil(modules, project, write);
    if (isKilled) killed += 1;
    const now = await countNights(project);
    expect(now, `write ${write} of night ${nights}`).toBe(isKilled ? Math.max(now, seen) : nights);
    seen = now;
  }
  await project.publish();
  expect(await countNights(project)).toBe(nights);
  await project.expectRestored();
}

/** @returns whether the publish was killed */
function runUntil(modules: string, project: LakeProject, write: number): boolean {
  const words = [PROGRAM, modules, project.config.file, project.store.name, String(write)];
  const { signal, status, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  expect(signal ?? status, stderr).toBeOneOf(['SIGKILL', 0]);
  return signal === 'SIGKILL';
}

/** The number of nights that readers see, which every table must have. */
async function countNights(project: LakeProject): Promise<number> {
  if ((await project.store.folders()).length === 0) return 0;
  const relations = await project.relations();
  const isBegun = (table: string) => relations.includes(table) && relations.includes('runs');
  const counted = TABLES.map((table) => (isBegun(table) ? `(select count(*)::int from ${table})` : '0'));
  const [row] = await project.inLake(`select [${counted.join(', ')}] as counts`);
  const counts = row?.counts as readonly number[];
  expect(new Set(counts).size, `${TABLES}: ${counts}`).toBe(1);
  return counts[0] ?? 0;
}

async function night(project: LakeProject, number: number): Promise<void> {
  const day = new Date(Date.UTC(2026, 8, number, 2, 15)).toISOString();
  const params = { day, name: `n${number}` };
  const add = (sql: string) => ({ sql, params });
  await project.night(
    day,
    add(
      'insert into autoscaler_health_history by name select $name as target, true as alive, $day::timestamptz as valid_from',
    ),
    add(`insert into finding_events values ($name, $name, 'r', $day::timestamptz, 'new', 'warning', 'found', null)`),
    add(`insert into findings by name select $name as finding_id, 'a' as target, 'r' as rule, 'warning' as severity, 's' as subject_type,
      $name as subject_id, 't' as title, 'new' as state, $day::timestamptz as first_seen, $day::timestamptz as last_seen, 0 as times_reopened`),
    add(`insert into pulls by name select strftime($day::timestamptz, '%Y%m%dT%H%M%SZ') as run_id, $name as target, 'keys' as source,
      'complete' as status, $day::timestamptz as started_at, $day::timestamptz as as_of`),
  );
}
