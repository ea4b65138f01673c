import { join } from 'node:path';
import { buildCommand } from './built-command.ts';

/** Stands for `src/ask/query/child-file.ts` in tests that run from source: Node cannot run the TypeScript, so the process of a query is the built one. */
// until Node 22: 22.18 runs TypeScript
export const CHILD_FILE = join(await buildCommand(), '..', '..', 'dist', 'query-child.js');
