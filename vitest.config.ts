import { existsSync, statfsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const SYSTEM = 'test/system/**/*.test.ts';
const LONG = 'test/long/**/*.test.ts';
const CLIENTS = 'test/clients/**/*.test.ts';
/** Tests of commands, and of what reads or writes a whole warehouse. To plan its SQL takes most of their time. */
const INTEGRATION =
  'test/{backup,commands,e2e,findings,lake,mail,pipeline,playbooks,query,remediation,reports,retention,sources,warehouse}/**/*.test.ts';

const MEMORY_DISK = '/dev/shm';
const MEMORY_DISK_BYTES = 2 ** 31;

/** Tests write hundreds of small warehouses: a disk in memory, where there is a large one, saves them the work of a real one. */
function chooseTempFolder(): Record<string, string> {
  const disk = existsSync(MEMORY_DISK) ? statfsSync(MEMORY_DISK) : undefined;
  return disk && disk.bavail * disk.bsize >= MEMORY_DISK_BYTES ? { TMPDIR: MEMORY_DISK } : {};
}

/** Test files share a process, so that modules load once for each worker. */
const SHARED_PROCESS = {
  isolate: false,
  sequence: { shuffle: { files: true, tests: true } },
  maxWorkers: 3, // on two cores: a worker waits for timers and files a fifth of the time
  // Most code runs a few times: to collect garbage and to optimize less often saves a twelfth of the processor time. `tls` is loaded first:
  // loaded late in a worker, it once lacked functions for the rest of the run.
  execArgv: ['--max-semi-space-size=64', '--interrupt-budget=600000', '--require=tls'],
  env: chooseTempFolder(),
};

/** The tiers: `npm test` is the unit tier, and each of the others has a script. CONTRIBUTING.md says what belongs where. */
export default defineConfig({
  resolve: {
    alias: [
      {
        find: /^(?:\.|\.\.\/query)\/child-file\.ts$/u,
        replacement: fileURLToPath(new URL('test/helpers/query-child-file.ts', import.meta.url)),
      },
      {
        find: '../ask/query/query-process.ts',
        replacement: fileURLToPath(new URL('test/helpers/kept-query-process.ts', import.meta.url)),
      },
      {
        find: './worker-file.ts',
        replacement: fileURLToPath(new URL('test/helpers/plugin-worker-file.ts', import.meta.url)),
      },
    ],
  },
  test: {
    pool: 'forks',
    maxWorkers: 2,
    // A last resort against a test that hangs, and no measure: a machine under foreign load needs minutes for what takes seconds.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    globalSetup: 'test/global-setup.ts',
    // Vitest prints the seed; `--sequence.seed=N` repeats an order.
    sequence: { shuffle: { files: true } },
    // Modules that did not change are not compiled again, by the next tier or the next run.
    experimental: { fsModuleCache: true },
    expect: { poll: { timeout: 500_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: [INTEGRATION, SYSTEM, LONG, CLIENTS],
          ...SHARED_PROCESS,
        },
      },
      { extends: true, test: { name: 'integration', include: [INTEGRATION], ...SHARED_PROCESS } },
      {
        extends: true,
        test: {
          name: 'system',
          include: [SYSTEM],
          isolate: false,
          maxWorkers: 4, // on two cores: the tests wait for timeouts, processes and browsers
          env: chooseTempFolder(),
          sequence: { groupOrder: 1 }, // projects with other numbers of workers run one after the other
        },
      },
      { extends: true, test: { name: 'clients', include: [CLIENTS], maxWorkers: 1, sequence: { groupOrder: 2 } } },
      {
        extends: true,
        test: { name: 'long', include: [LONG], testTimeout: 3_600_000, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
