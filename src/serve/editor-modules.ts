import { fileURLToPath } from 'node:url';

/** The modules that the SQL editor imports: CodeMirror and what it consists of. No other file of `node_modules` is served. */
const MODULES = [
  '@codemirror/autocomplete',
  '@codemirror/commands',
  '@codemirror/lang-sql',
  '@codemirror/language',
  '@codemirror/state',
  '@codemirror/streamparser',
  '@codemirror/view',
  '@lezer/common',
  '@lezer/highlight',
  '@lezer/lr',
  '@marijn/find-cluster-break',
  'crelt',
  'style-mod',
  'w3c-keyname',
] as const;

/** The files of the editor's modules, by their names in `/assets/`. */
export function findEditorModules(): ReadonlyMap<string, string> {
  return new Map(MODULES.map((module) => [assetName(module), fileURLToPath(import.meta.resolve(module))]));
}

/** The import map of a page, as JSON. */
export const EDITOR_IMPORT_MAP = JSON.stringify({
  imports: Object.fromEntries(MODULES.map((module) => [module, `/assets/${assetName(module)}`])),
});

/** `codemirror-state.js` for `@codemirror/state`. */
function assetName(module: string): string {
  return `${module.replace('@', '').replace('/', '-')}.js`;
}
