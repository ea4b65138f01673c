import { fileURLToPath } from 'node:url';

/** The program of a process that runs queries: in `dist/`, where the bundle puts it beside this module. */
export const CHILD_FILE = fileURLToPath(new URL('./query-child.js', import.meta.url));

/** `reports/serve/editor.js` with all that it imports, in the same folder. */
export const EDITOR_FILE = fileURLToPath(new URL('./browser/editor.js', import.meta.url));
