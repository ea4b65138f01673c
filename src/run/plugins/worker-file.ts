import { fileURLToPath } from 'node:url';

/** The program of a thread that runs a plugin: in `dist/`, where the bundle puts it beside this module. */
export const WORKER_FILE = fileURLToPath(new URL('./plugin-worker.js', import.meta.url));
