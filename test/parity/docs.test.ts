import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { defineProgram } from '../../src/cli/index.ts';
import { EXIT } from '../../src/core/errors.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables } from '../../src/warehouse/tables.ts';
import { cli } from '../helpers/cli.ts';
import { inlineCode, PAGES, readPage, tableRows } from '../helpers/documents.ts';

const COMMANDS = readPage('docs/commands.md');
const WAREHOUSE = readPage('docs/warehouse.md');
const MOST_WORDS = 1500;
const files = createSqlFiles([PACKAGE_ROOT]);
const tables = await loadTables(files);

/** The SQL of blocks and of `tidemark sql`. */
function findSql(text: string): readonly string[] {
  const blocks = text.matchAll(/```sql\n([\s\S]*?)```/gu);
  const inline = text.matchAll(/tidemark sql (?:--as-of \S+ )?"([^"]+)"/gu);
  // Queries of rules, reports and sources have parameters that their readers bind.
  return [...blocks, ...inline].map(([, sql]) => sql ?? '').filter((sql) => !/\$\w/u.test(sql));
}

const firstCells = (header: string) => tableRows('docs/commands.md', header).map(([cell = '']) => cell);

test('README.md is short, begins with what a fresh checkout does, and its map names every document', () => {
  const readme = readPage('README.md');
  expect(readme.split(/\s+/u).length).toBeLessThan(MOST_WORDS);
  expect(readme).toMatch(/^# Tidemark\n\n```sh\nnpm ci && npm run demo .*\nnpm test /u);
  const map = readPage('docs/README.md');
  const guides = PAGES.filter((page) => page.startsWith('docs/')).map((page) => page.slice('docs/'.length));
  expect(guides.filter((page) => !map.includes(`](${page})`))).toEqual(['README.md']);
});

describe('docs/commands.md', () => {
  test('lists the commands', async () => {
    const listed = tableRows('docs/commands.md', '| | Commands |').flatMap(([, cell = '']) =>
      inlineCode(cell).flatMap((code) => /^tidemark ([\w-]+)$/u.exec(code)?.[1] ?? []),
    );
    expect([...new Set(listed)].sort()).toEqual(
      (await defineProgram()).commands.map((command) => command.name()).sort(),
    );
  });

  test('lists the exit codes', () => {
    const codes = firstCells('| Exit | Meaning |').map(Number);
    expect(codes).toEqual([...Object.values(EXIT)].sort((a, b) => a - b));
  });

  test('names the tables without a past', () => {
    const isWithout = (name: string) => !files.has(`warehouse/${name}_at`);
    const without = [...tables.values()].filter(
      ({ source, loggedAt, internal, name }) => !source && !loggedAt && !internal && isWithout(name),
    );
    const [sentence = ''] = /^.* have no past, /mu.exec(COMMANDS) ?? [];
    const named = inlineCode(sentence.slice(sentence.lastIndexOf('is refused.')));
    expect(named).toEqual(without.map(({ name }) => name).sort());
  });

  test('names the global options', async () => {
    const { stdout } = await cli(['--help'], { cwd: PACKAGE_ROOT });
    const options = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gmu)].map(([, option]) => option ?? '');
    const named = options.filter((option) => option !== '--help' && option !== '--version');
    expect(named.length).toBeGreaterThan(3);
    expect(named.filter((option) => !COMMANDS.includes(`\`${option}`))).toEqual([]);
  });

  test('docs/warehouse.md names the tables, except the internal ones', () => {
    const shown = [...tables.values()].filter(({ internal }) => !internal);
    expect(shown.filter(({ name }) => !WAREHOUSE.includes(`\`${name}\``)).map(({ name }) => name)).toEqual([]);
  });
});

/** Documents whose SQL is not for the warehouse: engines that read a lake, and examples of templates. */
const OTHER_SQL = new Set(['docs/lake.md']);

describe('SQL in README.md and docs', async () => {
  const database = await openDatabase(':memory:');
  await migrate(database, files);
  afterAll(() => database.close());
  const shown = PAGES.filter((path) => !OTHER_SQL.has(path)).flatMap((path) =>
    findSql(readPage(path)).map((sql) => [path, sql] as const),
  );
  test.each(shown)('%s: %s', async (_, sql) => {
    await expect(database.rows(sql)).resolves.toBeInstanceOf(Array);
  });
});

const folders = readdirSync(join(PACKAGE_ROOT, 'src'), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

test.each(['CONTRIBUTING.md', 'lint/layers.grit'])('%s names every folder of src', (path) => {
  const text = readPage(path);
  expect(folders.filter((name) => !new RegExp(`\\b${name}\\b`, 'u').test(text))).toEqual([]);
});

test('CONTRIBUTING.md has every folder of the repository', () => {
  const ignored = readPage('.gitignore').split('\n');
  const entries = readdirSync(PACKAGE_ROOT, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const own = entries
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('.') && ![`${name}/`, `/${name}/`].some((line) => ignored.includes(line)));
  const layout = readPage('CONTRIBUTING.md').split('\n### ')[0] ?? '';
  expect(own.filter((name) => name !== 'src' && !layout.includes(`\`${name}/\``))).toEqual([]);
});

test('CONTRIBUTING.md names each step by a function of the file beside it', () => {
  const steps = [...readPage('CONTRIBUTING.md').matchAll(/((?:`[\w.]+`(?: and )?)+) \(`(src\/[\w/.-]+\.ts)`\)/gu)];
  const missing = steps.flatMap(([, names = '', path = '']) => {
    const isDeclared = (name: string) =>
      new RegExp(`\\b(?:class|function\\*?|async) ${name}\\b`, 'u').test(readPage(path));
    return inlineCode(names)
      .flatMap((name) => name.split('.'))
      .filter((name) => !isDeclared(name));
  });
  expect(steps.length).toBeGreaterThan(20);
  expect(missing).toEqual([]);
});

test('.ci/run runs every part of `npm run check` in package.json', () => {
  const { scripts } = JSON.parse(readPage('package.json')) as { scripts: Record<string, string> };
  const script = readPage('.ci/run');
  const parts = scripts.check?.split(' && ').filter((part) => part !== 'npm run build');
  expect(parts?.filter((part) => !script.includes(part))).toEqual([]);
  expect(script, 'npm ci builds').toMatch(/^check npm ci\b/mu);
  expect(scripts.prepare).toMatch(/^npm run build\b/u);
});
