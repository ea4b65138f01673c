import { join } from 'node:path';
import { buildCommand } from './built-command.ts';

/** Stands for `src/run/plugins/worker-file.ts` in tests that run from source: the thread of a plugin runs the built program. */
export const WORKER_FILE = join(await buildCommand(), '..', '..', 'dist', 'plugin-worker.js');
