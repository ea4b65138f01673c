import { statfsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startMailServer } from '../../helpers/mail-server.ts';
import { listWrites, playbookHarness } from '../../helpers/playbook-harness.ts';
import { tempFolder } from '../../helpers/temp.ts';
import { hashFile } from '../../helpers/warehouse-checks.ts';
import { mailing } from '../../mail/mail-project.ts';
import {
  DISK_FULL,
  fillDisk,
  fillDuringJobs,
  fillDuringRun,
  MEBIBYTE,
  mountUntilEnd,
  noSmallDisk,
  SOURCES,
  smallDisk,
} from './small-disk.ts';

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
    const { place, published, fillBut, ballast } = await smallDisk(80);
    await place.pull(SOURCES);
    const before = await hashFile(published);
    fillBut(20 * MEBIBYTE);
    const run = await place.tidemark(['pull', ...SOURCES]);
    expect(run.exit).toBe(1);
    expect(run.stderr).toMatch(DISK_FULL);
    expect(await hashFile(published)).toBe(before);
    await rm(ballast);
    await place.pull(SOURCES);
  });

  test('prune removes landings, which no run can, and only then asks for the space to remove history', async () => {
    const { place, data, fillBut } = await smallDisk(80);
    await place.pull(SOURCES);
    place.sandbox.tick();
    await place.pull(SOURCES);
    fillBut(MEBIBYTE);
    const late = ['--now', '2026-10-16T02:15:00Z']; // landings are kept for 14 days
    expect(await place.tidemark(['prune', '--yes', ...late])).toMatchObject({ exit: 0, stderr: '' });
    expect(await readdir(join(data, 'landing'))).toEqual(['20261002T021500Z']);
    await place.configure((config) => {
      config.historyDays = 35;
    });
    const history = await place.tidemark(['prune', '--yes', '--now', '2027-06-01T02:15:00Z']);
    expect(history).toMatchObject({ exit: 1, stderr: expect.stringMatching(DISK_FULL) });
    expect(await readdir(join(data, 'landing'))).toEqual([]);
  });

  test('of files, with any number of free bytes: the message counts both', async () => {
    const { place, data } = await smallDisk(80, 60);
    await place.pull(SOURCES);
    for (let file = 0; statfsSync(data).ffree > 2; file++) await writeFile(join(data, `file-${file}`), '');
    const { exit, stderr } = await place.tidemark(['pull', ...SOURCES]);
    const free = /^error: the disk is full: \d+ bytes and \d files? are free in \S+data\n.*nothing is lost/mu;
    expect([exit, stderr]).toEqual([1, expect.stringMatching(free)]);
  });

  test('of a result: one line, and no part of it', async () => {
    const { place } = await smallDisk(80);
    await place.pull(SOURCES);
    const full = join(place.folder, 'full');
    await mkdir(full);
    mountUntilEnd(full, 1);
    for (const format of ['csv', 'json', 'parquet', 'xlsx']) {
      const words = ['-o', join(full, `x.${format}`), 'select random() from range(200000)'];
      expect((await place.tidemark(['sql', ...words])).exit, format).toBe(1);
    }
    expect(await readdir(full)).toEqual([]);
  });

  // Disk space is checked before the run; another program, or a larger response, can still fill the disk. More of them are in test/long.
  test.each([
    [0, 0],
    [0.9, 0],
  ])('during a run, down to %d of the working file and %d MiB: 1, nothing lost, the next run completes', fillDuringRun);

  test('during an apply: 1, and the line that did not fit is continued: each action is sent once', async () => {
    let isFull = false;
    const place = await playbookHarness({
      playbook: 'reap-dead-agents',
      faultHook: ({ method }) => {
        if (method === 'DELETE' && !isFull) fillDisk(data, 0);
        isFull ||= method === 'DELETE';
        return undefined;
      },
    });
    const data = join(await tempFolder(), 'data');
    await mkdir(data);
    mountUntilEnd(data, 80);
    await cp(join(place.folder, 'data'), data, { recursive: true });
    await place.configure((config) => {
      config.data = data;
    });
    await place.plan(['--max-percent', '100']);
    await place.approve(['--by', 'A'.repeat(250)]); // six lines are longer than a page of the disk, and five are not
    const sent = () => listWrites(place.sandbox.log).length;
    expect((await place.apply([], 1)).stderr).toMatch(DISK_FULL);
    expect((await readFile(join(data, 'ledger.ndjson'), 'utf8')).split('\n')).toHaveLength(6);
    expect((await place.apply([], 1)).stderr).toMatch(DISK_FULL);
    expect(sent()).toBe(3);

    await rm(join(data, 'ballast'));
    const { rows } = (await place.apply()).json<{ rows: { status: string }[] }>();
    expect(rows.map(({ status }) => status)).toEqual(['applied', 'applied', 'applied']);
    expect(sent()).toBe(3);
    expect((await place.tidemark(['playbook', 'ledger', 'verify'])).exit).toBe(0);
  });

  test('of the reports alone: the job mails what changed, and says why there are no reports', async () => {
    const server = await startMailServer();
    const place = await mailing(server.port);
    const out = join(place.folder, 'out');
    await mkdir(out);
    mountUntilEnd(out, 1);
    fillDisk(out, 0);
    const { exit, stderr } = await place.tidemark(['run', 'nightly', '--json']);
    expect([exit, server.received.length]).toEqual([1, 1]);
    expect(stderr).toMatch(/^error: report \w+: .*out cannot be used: the disk is full$/mu);
    expect(await place.rows('select status from outbox')).toEqual([{ status: 'sent' }]);
  });

  test('at any moment of a job: 1 with the required bytes, and the next run completes', () => fillDuringJobs(2));
});
