import { spawnSync } from 'node:child_process';
import { statfsSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import { readRows } from '../../helpers/rows.ts';
import { tempFolder } from '../../helpers/temp.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';
import { findInconsistencies, hashFile } from '../../helpers/warehouse-checks.ts';

export const MEBIBYTE = 1024 * 1024;

/** A source of many rows, and one that is loaded before it. */
export const SOURCES = ['--source', 'workspaces', '--source', 'agent_pools'];

/** @returns why no small disk can be mounted */
function mountSmall(folder: string, mebibytes: number, inodes = 100_000): string | undefined {
  const options = ['-t', 'tmpfs', '-o', `size=${mebibytes}m,nr_inodes=${inodes}`, 'tidemark', folder];
  const mounted = spawnSync('mount', options, { encoding: 'utf8' });
  return mounted.status === 0 ? undefined : (mounted.error?.message ?? mounted.stderr.trim());
}

/** Why no small disk can be mounted here. */
async function whyNoMount(): Promise<string | undefined> {
  const folder = await tempFolder(() => {});
  const reason = mountSmall(folder, 1);
  if (reason === undefined) spawnSync('umount', [folder]);
  await rm(folder, { recursive: true });
  return reason;
}

/** Why no disk can be filled here. */
export const noSmallDisk = await whyNoMount();
if (noSmallDisk !== undefined)
  console.warn(`tests of a full disk are skipped, since no small one can be mounted: ${noSmallDisk}`);

/** Mounts a disk of some MiB, and of some files, until the test ends. */
export function mountUntilEnd(folder: string, mebibytes: number, inodes?: number): void {
  const problem = mountSmall(folder, mebibytes, inodes);
  if (problem !== undefined) throw new Error(problem);
  onTestFinished(() => void spawnSync('umount', ['--lazy', folder]));
}

/** Fills a disk up to a number of free bytes, by the file `ballast`. */
export function fillDisk(folder: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  writeFileSync(join(folder, 'ballast'), Buffer.alloc(Math.max(0, bavail * bsize - bytes)));
}

export interface SmallDisk {
  readonly place: TestProject;
  readonly data: string;
  readonly published: string;
  /** Fills the disk up to a number of free bytes; `rm(ballast)` frees it again. */
  readonly fillBut: (bytes: number) => void;
  /** The same, at a matching request. */
  readonly fillWhenAsked: (path: RegExp, bytes: number) => void;
  readonly ballast: string;
}

/** A project whose data and reports are on a disk of some MiB, and of some files. */
export async function smallDisk(mebibytes: number, inodes?: number): Promise<SmallDisk> {
  let when: { path: RegExp; bytes: number } | undefined;
  const place = await testProject({
    workspaces: 30,
    faultHook: ({ path }) => {
      if (!when?.path.test(path)) return undefined;
      fillBut(when.bytes);
      when = undefined;
      return undefined;
    },
  });
  const data = join(await tempFolder(), 'data');
  await mkdir(data);
  mountUntilEnd(data, mebibytes, inodes);
  await place.configure((config) => {
    config.data = data;
    config.output = join(data, 'out');
  });
  const fillBut = (bytes: number) => fillDisk(data, bytes);
  return {
    place,
    data,
    published: join(data, 'warehouse.duckdb'),
    ballast: join(data, 'ballast'),
    fillBut,
    fillWhenAsked: (path, bytes) => {
      when = { path, bytes };
    },
  };
}

export const DISK_FULL = /the disk is full: (\d+) bytes are needed in (\S+), (\d+) are free\n.*nothing is lost/u;

/** Fills the disk while a run pulls, but for a part of the working file's size and some MiB. */
export async function fillDuringRun(part: number, mebibytes: number): Promise<void> {
  const { place, data, published, fillWhenAsked, ballast } = await smallDisk(80);
  await place.pull(SOURCES);
  const before = await hashFile(published);
  place.sandbox.tick();
  const { size } = await stat(published);
  fillWhenAsked(/\/explorer/u, size * part + mebibytes * MEBIBYTE);
  const run = await place.tidemark(['pull', ...SOURCES]);
  expect(run.exit, run.stderr).toBe(1);
  expect(run.stderr).toMatch(DISK_FULL);
  expect(await hashFile(published)).toBe(before);
  expect(await readdir(data)).not.toContain('warehouse.duckdb.next');

  await rm(ballast);
  const next = await place.tidemark(['pull', ...SOURCES]);
  expect(next.exit, next.stderr).toBe(0);
  expect(await findInconsistencies(published)).toEqual([]);
  const [row] = await readRows(published, "select count(distinct as_of) as runs from pulls where status = 'complete'");
  expect(Number(row?.runs)).toBeGreaterThan(1);
}

/** Fills the disk at moments spread over a job: the job ends with 1 and the required bytes, and the next one completes. */
export async function fillDuringJobs(moments: number): Promise<void> {
  const { place, data, published, fillBut, ballast } = await smallDisk(120); // many jobs leave their landings
  await place.configure((config) => {
    config.targets = config.targets.filter(({ kind }) => kind === 'platform'); // the job pulls nothing else
  });
  await mkdir(join(place.folder, 'jobs'));
  const job = { pull: ['workspaces'], reports: ['drift'] };
  await writeFile(join(place.folder, 'jobs', 'nightly.yaml'), stringify(job));
  const startedMs = performance.now();
  expect((await place.tidemark(['run', 'nightly'])).exit).toBe(0);
  const wholeMs = performance.now() - startedMs;
  const fillWhileUsed = (bytes: number) => {
    try {
      fillBut(bytes);
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENOSPC' }); // the job took the space meanwhile
    }
  };
  const exits = new Set<number>();
  for (let part = 0; part < moments; part++) {
    place.sandbox.tick();
    const timer = setTimeout(() => fillWhileUsed(part % 2 === 0 ? 0 : 100_000), (wholeMs * part) / moments);
    const { exit, stderr } = await place.tidemark(['run', 'nightly']);
    clearTimeout(timer);
    await rm(ballast, { force: true });
    exits.add(exit);
    if (exit !== 0) expect([exit, stderr]).toEqual([1, expect.stringMatching(DISK_FULL)]);
    expect(await readdir(data)).not.toContain('warehouse.duckdb.next');
    const next = await place.tidemark(['run', 'nightly']);
    expect(next.exit, `${stderr}${next.stderr}`).toBe(0);
    expect(await findInconsistencies(published)).toEqual([]);
  }
  expect(exits).toContain(1);
  expect(await readdir(join(data, 'work'))).not.toContain('warehouse.duckdb.damaged');
}
