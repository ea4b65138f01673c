import { spawnSync } from 'node:child_process';
import { statfsSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { stringify } from 'yaml';
import { openDatabase } from '../../../src/warehouse/database.ts';
import { tempFolder } from '../../helpers/temp.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';
import { findInconsistencies, hashFile } from '../../helpers/warehouse-checks.ts';

const MEBIBYTE = 1024 * 1024;
/** Moments of a job at which the disk fills. */
const PARTS = 5;

function mountSmall(folder: string, mebibytes: number): string | undefined {
  const options = ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tidemark', folder];
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

const reason = await whyNoMount();
if (reason !== undefined)
  console.warn(`tests of a full disk are skipped, since no small one can be mounted: ${reason}`);

interface SmallDisk {
  readonly place: TestProject;
  readonly data: string;
  readonly published: string;
  /** Fills the disk up to a number of free bytes; `rm(ballast)` frees it again. */
  readonly fillBut: (bytes: number) => void;
  /** The same, at a matching request. */
  readonly fillWhenAsked: (path: RegExp, bytes: number) => void;
  readonly ballast: string;
}

/** A project whose data and reports are on a disk of some MiB. */
async function smallDisk(mebibytes: number): Promise<SmallDisk> {
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
  const problem = mountSmall(data, mebibytes);
  if (problem !== undefined) throw new Error(problem);
  onTestFinished(() => void spawnSync('umount', ['--lazy', data]));
  await place.configure((config) => {
    config.data = data;
    config.output = join(data, 'out');
  });
  const ballast = join(data, 'ballast');
  function fillBut(bytes: number): void {
    const { bavail, bsize } = statfsSync(data);
    writeFileSync(ballast, Buffer.alloc(Math.max(0, bavail * bsize - bytes)));
  }
  return {
    place,
    data,
    published: join(data, 'warehouse.duckdb'),
    ballast,
    fillBut,
    fillWhenAsked: (path, bytes) => {
      when = { path, bytes };
    },
  };
}

const DISK_FULL = /the disk is full: (\d+) bytes are needed in (\S+), (\d+) are free\n.*nothing is lost/u;

describe.skipIf(reason !== undefined)('a disk that is full', () => {
  test('before the first run: exit code 1 with the required bytes, and nothing but the lock is written, and nothing requested', async () => {
    const { place, data } = await smallDisk(8);
    const run = await place.tidemark(['pull']);
    expect(run.exit).toBe(1);
    const [, needed, where, free] = DISK_FULL.exec(run.stderr) ?? [];
    expect(Number(needed)).toBeGreaterThan(Number(free));
    expect(where).toBe(data);
    expect(await readdir(data)).toEqual(['lock', 'lock.owner']);
    expect(place.sandbox.log).toEqual([]);
  });

  test('before a later run: the published warehouse stays', async () => {
    const { place, published, fillBut, ballast } = await smallDisk(128);
    await place.pull(['--target', 'acme']);
    const before = await hashFile(published);
    fillBut(20 * MEBIBYTE);
    const run = await place.tidemark(['pull', '--target', 'acme']);
    expect(run.exit).toBe(1);
    expect(run.stderr).toMatch(DISK_FULL);
    expect(await hashFile(published)).toBe(before);
    await rm(ballast);
    await place.pull(['--target', 'acme']);
  });

  // Disk space is checked before the run; another program, or a larger response, can still fill the disk.
  test.each([
    [0, 0],
    [0, 0.01],
    [0, 1],
    [0.25, 0],
    [0.5, 0],
    [0.9, 0],
  ])(
    'during a run, down to %d of the working file and %d MiB: 1, nothing lost, the next run completes',
    async (part, mebibytes) => {
      const { place, data, published, fillWhenAsked, ballast } = await smallDisk(160);
      await place.pull(['--target', 'acme']);
      const before = await hashFile(published);
      place.sandbox.tick();
      const { size } = await stat(published);
      fillWhenAsked(/\/explorer/u, size * part + mebibytes * MEBIBYTE);
      const run = await place.tidemark(['pull', '--target', 'acme']);
      expect(run.exit, run.stderr).toBe(1);
      expect(run.stderr).toMatch(DISK_FULL);
      expect(await hashFile(published)).toBe(before);
      expect(await readdir(data)).not.toContain('warehouse.duckdb.next');

      await rm(ballast);
      const next = await place.tidemark(['pull', '--target', 'acme']);
      expect(next.exit, next.stderr).toBe(0);
      expect(await findInconsistencies(published)).toEqual([]);
      const database = await openDatabase(published, { readOnly: true });
      const [row] = await database.rows("select count(distinct as_of) as runs from pulls where status = 'complete'");
      database.close();
      expect(Number(row?.runs)).toBeGreaterThan(1);
    },
  );

  test('at any moment of a job: 1 with the required bytes, and the next run completes', async () => {
    const { place, data, published, fillBut, ballast } = await smallDisk(160);
    await mkdir(join(place.folder, 'jobs'));
    const job = { pull: ['workspaces', 'agents', 'agent_pools'], reports: ['overview', 'drift', 'agent-health'] };
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
    for (let part = 0; part < PARTS; part++) {
      place.sandbox.tick();
      const timer = setTimeout(() => fillWhileUsed(part % 2 === 0 ? 0 : 100_000), (wholeMs * part) / PARTS);
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
  });
});
