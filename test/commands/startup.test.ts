import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';

const SRC = join(PACKAGE_ROOT, 'src');

interface Reached {
  /** Relative to src/. */
  readonly files: ReadonlySet<string>;
  readonly packages: ReadonlySet<string>;
}

/** What is loaded with these files: everything that their `import` statements reach, without types and `import()`. */
function followImports(entries: readonly string[]): Reached {
  const files = new Set<string>();
  const packages = new Set<string>();
  const queue = entries.map((entry) => join(SRC, entry));
  for (const file of queue) {
    if (files.has(relative(SRC, file))) continue;
    files.add(relative(SRC, file));
    const imports = readFileSync(file, 'utf8').matchAll(/^(?:import|export)\b(?! type)[^;]*? from '([^']+)';/gmu);
    for (const [, name = ''] of imports) {
      if (name.startsWith('.')) queue.push(resolve(dirname(file), name));
      else if (!name.startsWith('node:')) packages.add(name);
    }
  }
  return { files, packages };
}

const definitions = readdirSync(join(SRC, 'cli', 'definitions')).map((name) => `cli/definitions/${name}`);

test('help, completion and --version load no command, no database and no HTTP client', () => {
  const { files, packages } = followImports(['cli.ts', 'cli/completion.ts', ...definitions]);
  expect([...packages].sort()).toEqual(['commander', 'picocolors']);
  const folders = new Set([...files].map((file) => dirname(file)));
  expect([...folders].sort()).toEqual(['.', 'cli', 'cli/definitions', 'core', 'core/redact']);
});

test('the imports of a command reach the database; those of `sql` do not, whose queries run in another process', () => {
  expect(followImports(['cli/status.ts']).files).toContain('warehouse/database.ts');
  expect(followImports(['cli/sql.ts']).files).not.toContain('warehouse/database.ts');
});
