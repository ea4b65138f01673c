import { join } from 'node:path';
import { buildCommand } from './built-command.ts';

/** Stands for `src/run/plugins/worker-file.ts` in tests that run from source: the thread of a plugin runs the built program. */
// until Node 22: 22.18 runs TypeScript
export const WORKER_FILE = join(await buildCommand(), '..', '..', 'dist', 'plugin-worker.js');
