import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { commands } from '../../src/commands/index.ts';
import { EXIT } from '../../src/core/errors.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { migrate } from '../../src/warehouse/migrate.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables } from '../../src/warehouse/tables.ts';
import { cli } from '../helpers/cli.ts';

const read = (path: string) => readFileSync(join(PACKAGE_ROOT, path), 'utf8');
const README = read('README.md');
const files = createSqlFiles([PACKAGE_ROOT]);
const tables = await loadTables(files);

/** First cells of the rows of a Markdown table under the given head. */
function firstCells(head: string): readonly string[] {
  const [, after = ''] = README.split(`${head}\n`);
  const [table = ''] = after.split('\n\n');
  return table
    .split('\n')
    .slice(1)
    .map((row) => row.split(/(?<!\\)\|/u)[1]?.trim() ?? '');
}

describe('the README', () => {
  test('lists every command, and none that there is not', () => {
    const listed = firstCells('| Command | Does |').flatMap((cell) => /^`tidemark ([\w-]+)/u.exec(cell)?.[1] ?? []);
    expect([...new Set(listed)].sort()).toEqual(commands.map(({ name }) => name).sort());
  });

  test('lists every exit code', () => {
    const codes = firstCells('| Exit | Meaning |').map(Number);
    expect(codes).toEqual([...Object.values(EXIT)].sort((a, b) => a - b));
  });

  test('names every option that it shows for a command as the command has it', async () => {
    for (const cell of firstCells('| Command | Does |')) {
      const [, name = ''] = /^`tidemark ([\w-]+)/u.exec(cell) ?? [];
      const { stdout } = await cli([name, '--help'], { cwd: PACKAGE_ROOT });
      for (const [option] of cell.matchAll(/--[a-z-]+/gu)) expect(stdout, `${name} ${option}`).toContain(option);
    }
  });

  test('names every global option', async () => {
    const { stdout } = await cli(['--help'], { cwd: PACKAGE_ROOT });
    const options = [...stdout.matchAll(/^ {2}(--[a-z-]+)/gmu)].map(([, option]) => option ?? '');
    const known = options.filter((option) => option !== '--help' && option !== '--version');
    expect(known.length).toBeGreaterThan(3);
    for (const option of known) expect(README).toContain(`\`${option}`);
  });

  test('names every table but the one that tells warehouses apart', () => {
    const missing = [...tables.keys()].filter((name) => !README.includes(`\`${name}\``));
    expect(missing.filter((name) => name !== 'warehouse_identity')).toEqual([]);
  });

  test('begins with the two commands that do all the set-up', () => {
    const [, block = ''] = /```sh\n([\s\S]*?)```/u.exec(README) ?? [];
    expect(block.split('\n').map((line) => line.split('#')[0]?.trim())).toEqual([
      'npm ci && npm run demo',
      'npm ci && npm test',
      '',
    ]);
  });
});

describe('SQL that the README shows', async () => {
  const database = await openDatabase(':memory:');
  await (await migrate(database, files, tables))();
  afterAll(() => database.close());
  const blocks = [...README.matchAll(/```sql\n([\s\S]*?)```/gu)].map(([, sql]) => sql ?? '');
  const inline = [...README.matchAll(/tidemark sql "([^"]+)"/gu)].map(([, sql]) => sql ?? '');
  test.each([...blocks, ...inline])('runs: %s', async (sql) => {
    expect(await database.rows(sql)).toEqual([]);
  });
});

const guides = readdirSync(join(PACKAGE_ROOT, 'docs')).filter((name) => name.endsWith('.md'));

test.each(['README.md', 'CONTRIBUTING.md', 'deploy/README.md', ...guides.map((name) => `docs/${name}`)])(
  '%s links to what is there',
  (path) => {
    const links = [...read(path).matchAll(/\]\((?!https?:)([^)#]+)/gu)].map(([, link]) => link ?? '');
    const dead = links.filter((link) => !existsSync(join(PACKAGE_ROOT, dirname(path), link)));
    expect(dead).toEqual([]);
  },
);

test('CONTRIBUTING has a place for every folder of src', () => {
  const listed = [...read('CONTRIBUTING.md').matchAll(/`src\/([\w-]+)\/`/gu)].map(([, name]) => name);
  const folders = readdirSync(join(PACKAGE_ROOT, 'src'), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  expect([...new Set(listed)].sort()).toEqual(
    folders
      .map(({ name }) => name)
      .filter((name) => name !== 'commands')
      .sort(),
  );
});

test('.ci/run does everything that `npm run check` does, and the README’s test command', () => {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
  const script = read('.ci/run');
  for (const part of scripts.check?.split(' && ') ?? []) expect(script).toContain(part);
  expect(script).toContain('npm ci');
});
