import { join } from 'node:path';
import { buildCommand } from './built-command.ts';

const DIST = join(await buildCommand(), '..', '..', 'dist');

/** Stands for `src/ask/query/child-file.ts` in tests that run from source: Node cannot run the TypeScript, so the process of a query is the built one. */
// until Node 22: 22.18 runs TypeScript
export const CHILD_FILE = join(DIST, 'query-child.js');
export const EDITOR_FILE = join(DIST, 'browser', 'editor.js');
