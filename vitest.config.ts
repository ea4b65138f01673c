import { defineConfig } from 'vitest/config';

const SYSTEM = 'test/system/**/*.test.ts';
const LONG = 'test/long/**/*.test.ts';
const CLIENTS = 'test/clients/**/*.test.ts';

/** The tiers: `npm test`, `npm run test:system`, `npm run test:clients`, `npm run test:long`. CONTRIBUTING.md says what belongs where. */
export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: 'test/global-setup.ts',
    projects: [
      // Test files share a process, so that modules load once for each worker.
      {
        extends: true,
        test: { name: 'unit', include: ['test/**/*.test.ts'], exclude: [SYSTEM, LONG, CLIENTS], isolate: false },
      },
      { extends: true, test: { name: 'system', include: [SYSTEM], testTimeout: 300_000, hookTimeout: 300_000 } },
      { extends: true, test: { name: 'clients', include: [CLIENTS], maxWorkers: 1 } },
      { extends: true, test: { name: 'long', include: [LONG], testTimeout: 3_600_000, maxWorkers: 1 } },
    ],
  },
});
