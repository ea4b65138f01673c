import { describe, test } from 'vitest';
import { fillDuringJobs, noSmallDisk } from '../system/faults/small-disk.ts';

describe.skipIf(noSmallDisk !== undefined)('a disk that is full', () => {
  test('at any of 20 moments of a job: 1 with the required bytes, and the next run completes', () =>
    fillDuringJobs(20));
});
