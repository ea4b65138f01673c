import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { buildCommand } from '../helpers/built-command.ts';

const dist = join(dirname(await buildCommand()), '..', 'dist');

/** What is loaded with these chunks: the modules of src/ in all that their `import` statements reach, and the dependencies. */
function followImports(entries: readonly string[]) {
  const chunks = new Set(entries);
  for (const chunk of chunks) {
    for (const [, name = ''] of read(chunk).matchAll(/^import\b[^;]*?"(\.[^"]+)";/gmu)) {
      chunks.add(join(dirname(chunk), name));
    }
  }
  const modules = [...chunks].flatMap((chunk) => [...read(chunk).matchAll(/^\/\/(?:#region)? (src\/\S+)/gmu)]);
  const files = new Set(modules.map(([, file = '']) => file.replace(/\?.*$/u, '')));
  const dependencies = [...chunks].filter((chunk) => chunk.startsWith('dependencies/')).sort();
  return {
    chunks: [...chunks],
    files,
    dependencies,
    folders: [...new Set([...files].map((file) => dirname(file)))].sort(),
  };
}

/** The chunks that a chunk loads by `import()`. */
function listLoaded(chunk: string, before = ''): readonly string[] {
  return [...read(chunk).matchAll(new RegExp(`${before}import\\("\\./([^"]+)"\\)`, 'gu'))].map(
    ([, loaded = '']) => loaded,
  );
}

const read = (chunk: string): string => readFileSync(join(dist, chunk), 'utf8');

/** What each command is loaded from, for its options and help. */
const definitions = followImports(['cli.js']).chunks.flatMap((chunk) => listLoaded(chunk, '\\(\\) => '));

test('help, completion and --version load no command, no database and no HTTP client', () => {
  const [, completion = ''] = /import\("\.\/(complete-words[^"]*)"\)/u.exec(read('cli.js')) ?? [];
  const { files, dependencies, folders } = followImports(['cli.js', completion, ...definitions]);
  expect(definitions.length).toBeGreaterThan(20);
  expect(files).toContain('src/cli/pull.ts');
  expect(dependencies).toEqual(['dependencies/commander.js', 'dependencies/picocolors.js']);
  expect(folders).toEqual(['src', 'src/cli', 'src/core', 'src/core/redact']);
});

test('the imports of a command reach the database; those of `sql` do not, whose queries run in another process', () => {
  expect(followImports(listRun('status')).files).toContain('src/warehouse/database.ts');
  expect(followImports(listRun('sql')).files).not.toContain('src/warehouse/database.ts');
});

/** The chunks that the action of a command loads. */
function listRun(name: string): readonly string[] {
  const definition = definitions.find((chunk) => read(chunk).includes(`src/cli/${name}.ts?copy\n`)) ?? '';
  return listLoaded(definition);
}
