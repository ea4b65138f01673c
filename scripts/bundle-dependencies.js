// Puts each large dependency into one file below dist/dependencies/, and makes dist/ use it. Opening and compiling some hundred small
// files took most of the time in which a command starts. Usage: node scripts/bundle-dependencies.js [DIST]
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { rolldown } from 'rolldown';

const dist = resolve(process.argv[2] ?? 'dist');
const folder = join(dist, 'dependencies');

/** Dependencies of many files that commands load as they start. */
const IMPORTED = ['commander', 'csv-parse', 'ky', 'lossless-json', 'undici', 'yaml', 'zod'];
/** Loaded by `require`. Its binary stays where npm installed it for the platform. */
const REQUIRED = '@duckdb/node-api';
const BINARY = '@duckdb/node-bindings';

/** `import { a } from 'b'`, `import a from 'b'`, `export { a } from 'b'` */
const IMPORT = /\b(import|export)\s+([^'";]*?)\s+from\s+'([\w@/-]+)'/gu;
/** `const { a } = await import('b')` */
const DYNAMIC_IMPORT = /(\{[^{}]*\})\s*=\s*await import\('([\w@/-]+)'\)/gu;

const modules = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
  .map((entry) => join(entry.parentPath, entry.name))
  .filter((file) => !file.startsWith(folder));

function fileOf(name) {
  return `${name.replace('@', '').replace('/', '-')}.${name === REQUIRED ? 'cjs' : 'js'}`;
}

/** The names that the program imports from each dependency: those of CommonJS modules cannot be found in them. */
function findUsedNames() {
  const used = new Map(IMPORTED.map((name) => [name, new Set()]));
  for (const file of modules) {
    const text = readFileSync(file, 'utf8');
    const clauses = [
      ...[...text.matchAll(IMPORT)].map(([, , clause, name]) => [clause, name]),
      ...[...text.matchAll(DYNAMIC_IMPORT)].map(([, clause, name]) => [clause, name]),
    ];
    for (const [clause, name] of clauses) for (const one of parseNames(clause, file)) used.get(name)?.add(one);
  }
  return used;
}

function parseNames(clause, file) {
  if (/^\* as /u.test(clause)) throw new Error(`${file}: \`${clause}\` imports everything: name what is used`);
  const list = /\{([^}]*)\}/u.exec(clause)?.[1].split(',') ?? [];
  const names = list.map((part) => part.trim().split(/\s+as\s+|:/u)[0]).filter((name) => name !== '');
  return /^\w/u.test(clause) ? ['default', ...names] : names;
}

/** Modules that export what the program uses of each dependency. */
function createEntries(used) {
  const prefix = '\0used:';
  const entries = [...used]
    .filter(([, names]) => names.size > 0)
    .map(([name]) => [fileOf(name).slice(0, -3), prefix + name]);
  const plugin = {
    name: 'used-names',
    resolveId: (id) => (id.startsWith(prefix) ? id : undefined),
    load: (id) => {
      const name = id.slice(prefix.length);
      return id.startsWith(prefix) ? `export { ${[...used.get(name)].join(', ')} } from '${name}';` : undefined;
    },
  };
  return { input: Object.fromEntries(entries), plugins: [plugin] };
}

/** @returns the files that were put together */
async function bundle(options, output) {
  const build = await rolldown({ ...options, external: [/^node:/u, BINARY], platform: 'node' });
  const { output: chunks } = await build.write({ dir: folder, chunkFileNames: '[name].js', ...output });
  await build.close();
  return chunks.flatMap(({ moduleIds = [] }) => moduleIds).filter((id) => !id.startsWith('\0'));
}

async function bundleAll() {
  const imported = await bundle(createEntries(findUsedNames()), { format: 'esm', entryFileNames: '[name].js' });
  const name = fileOf(REQUIRED);
  const input = createRequire(import.meta.url).resolve(REQUIRED);
  const required = await bundle({ input }, { format: 'cjs', entryFileNames: name });
  const file = join(folder, name);
  const text = readFileSync(file, 'utf8').replaceAll(/\brequire\(["']@duckdb\/node-bindings["']\)/gu, 'binary');
  // A strict layout of node_modules shows the package of the binary to its own package only.
  const binary = `require('node:module').createRequire(require.resolve('${REQUIRED}'))('${BINARY}')`;
  writeFileSync(file, `'use strict';\nconst binary = ${binary};\n${text}`);
  return [...imported, ...required];
}

/** The licenses ask to be where the code is. */
function writeLicenses(files) {
  const roots = new Set(
    files.map((file) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/u.exec(file)?.[0] ?? ''),
  );
  const texts = [...roots].sort().map((root) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
    const file = readdirSync(root).find((entry) => /^licen[cs]e/iu.test(entry));
    return `${name} ${version} (${license})\n\n${file ? readFileSync(join(root, file), 'utf8').trim() : ''}\n`;
  });
  writeFileSync(join(folder, 'LICENSES.txt'), texts.join(`\n${'-'.repeat(80)}\n\n`));
}

/** Makes a module import the bundled dependencies. */
function rewrite(file) {
  const text = readFileSync(file, 'utf8');
  const locate = (name) => {
    const path = relative(dirname(file), join(folder, fileOf(name)))
      .split(sep)
      .join('/');
    return path.startsWith('.') ? path : `./${path}`;
  };
  const replace = (statement, _, __, name) =>
    IMPORTED.includes(name) ? statement.replace(`'${name}'`, `'${locate(name)}'`) : statement;
  const bundled = text
    .replaceAll(IMPORT, replace)
    .replaceAll(DYNAMIC_IMPORT, (statement, clause, name) => replace(statement, '', clause, name))
    .replaceAll(
      `createRequire(import.meta.url)('${REQUIRED}')`,
      `createRequire(import.meta.url)('${locate(REQUIRED)}')`,
    );
  if (bundled !== text) writeFileSync(file, bundled);
}

if (existsSync(folder)) throw new Error(`${folder} exists: build dist/ first`);
writeLicenses(await bundleAll());
for (const file of modules) rewrite(file);
