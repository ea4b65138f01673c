// Bundles src/ into dist/: the entry points, the modules that they share, each dependency as one file of dist/dependencies/, and the editor of dist/browser/. To open
// and compile some hundred files took a sixth of the time of a short command. Usage: node scripts/bundle.js [DIST]
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { rolldown } from 'rolldown';

const root = resolve(import.meta.dirname, '..');
const dist = resolve(process.argv[2] ?? join(root, 'dist'));

const ENTRIES = {
  cli: 'src/cli.ts',
  index: 'src/index.ts',
  'query-child': 'src/ask/query/child.ts',
  'plugin-worker': 'src/run/plugins/worker.ts',
  'man-page': 'src/cli/man-page.ts',
};
/** Loaded by `require`, which a bundler leaves as it is. Its binary stays where npm installed it for the platform. */
const REQUIRED = '@duckdb/node-api';
const REQUIRED_FILE = 'dependencies/duckdb-node-api.cjs';
const BINARY = '@duckdb/node-bindings';

/** @returns the modules that the chunks consist of */
async function bundle(options, output) {
  const build = await rolldown({ cwd: root, platform: 'node', ...options });
  const { output: chunks } = await build.write({ dir: dist, ...output });
  await build.close();
  return chunks.flatMap(({ moduleIds = [] }) => moduleIds).filter((id) => !id.startsWith('\0'));
}

const PACKAGE = /^.*[\\/]node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)/u;

/** `dependencies/scope-name` for a module of `@scope/name`. */
function nameDependency(id) {
  const [, name] = PACKAGE.exec(id);
  return `dependencies/${name.replace('@', '').replace(/[\\/]/u, '-')}`;
}

/** Of each command, src/cli/index.ts loads the export `define`: a copy of the file without what the command runs. */
const splitDefinitions = {
  name: 'split-definitions',
  resolveId(source, importer = '', { kind }) {
    const isCommand = kind === 'dynamic-import' && importer === join(root, 'src', 'cli', 'index.ts');
    return isCommand ? `${join(dirname(importer), source)}?definition` : undefined;
  },
  load(id) {
    const [file, part] = id.split('?');
    if (part === 'definition') return `export { define } from './${basename(file)}?copy';`;
    return part === 'copy' ? { code: readFileSync(file, 'utf8'), moduleType: 'ts' } : undefined;
  },
};
/** What nothing uses of src/ is left out. */
const treeshake = { moduleSideEffects: [{ test: /[\\/]src[\\/]/u, sideEffects: false }] };

function bundleProgram() {
  const useBundledDuckdb = {
    name: 'bundled-duckdb',
    renderChunk: (code) => code.replace(`(import.meta.url)("${REQUIRED}")`, `(import.meta.url)("./${REQUIRED_FILE}")`),
  };
  return bundle(
    { input: ENTRIES, plugins: [splitDefinitions, useBundledDuckdb], treeshake },
    {
      format: 'esm',
      chunkFileNames: '[name].js',
      codeSplitting: { groups: [{ name: nameDependency, test: PACKAGE, debugName: 'dependencies' }] },
    },
  );
}

async function bundleDuckdb() {
  const input = createRequire(import.meta.url).resolve(REQUIRED);
  const modules = await bundle({ input, external: [BINARY] }, { format: 'cjs', entryFileNames: REQUIRED_FILE });
  const file = join(dist, REQUIRED_FILE);
  const text = readFileSync(file, 'utf8').replaceAll(/\brequire\(["']@duckdb\/node-bindings["']\)/gu, 'binary');
  // A strict layout of node_modules shows the package of the binary to its own package only.
  const binary = `require('node:module').createRequire(require.resolve('${REQUIRED}'))('${BINARY}')`;
  writeFileSync(file, `'use strict';\nconst binary = ${binary};\n${text}`);
  return modules;
}

/** The SQL editor of `serve`, as the one file that a browser loads. */
function bundleEditor() {
  const input = 'reports/serve/editor.js';
  return bundle({ input, platform: 'browser' }, { format: 'esm', entryFileNames: 'browser/editor.js', minify: true });
}

/** The licenses ask to be where the code is. */
function writeLicenses(modules) {
  const roots = new Set(modules.flatMap((id) => PACKAGE.exec(id)?.[0] ?? []));
  const texts = [...roots].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const file = readdirSync(folder).find((entry) => /^licen[cs]e/iu.test(entry));
    return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), 'utf8').trim() : ''}\n`;
  });
  writeFileSync(join(dist, 'dependencies', 'LICENSES.txt'), texts.join(`\n${'-'.repeat(80)}\n\n`));
}

writeLicenses([...(await bundleProgram()), ...(await bundleDuckdb()), ...(await bundleEditor())]);
