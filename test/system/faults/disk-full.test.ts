import { readdir, rm, stat } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../../../src/warehouse/database.ts';
import { findInconsistencies, hashFile } from '../../helpers/warehouse-checks.ts';
import { DISK_FULL, fillDuringJobs, noSmallDisk, smallDisk } from './small-disk.ts';

const MEBIBYTE = 1024 * 1024;

describe.skipIf(noSmallDisk !== undefined)('a disk that is full', () => {
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

  test('at any moment of a job: 1 with the required bytes, and the next run completes', () => fillDuringJobs(3));
});
