import { describe, test } from 'vitest';
import { fillDuringJobs, fillDuringRun, noSmallDisk } from '../system/faults/small-disk.ts';

describe.skipIf(noSmallDisk !== undefined)('a disk that is full', () => {
  test.each([
    [0, 0],
    [0, 0.01],
    [0, 1],
    [0.25, 0],
    [0.5, 0],
    [0.9, 0],
  ])('during a run, down to %d of the working file and %d MiB: 1, nothing lost, the next run completes', fillDuringRun);

  test('at any of 20 moments of a job: 1 with the required bytes, and the next run completes', () =>
    fillDuringJobs(20));
});
