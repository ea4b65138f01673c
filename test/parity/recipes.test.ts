import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { defineProgram } from '../../src/cli/index.ts';
import { FORMATS } from '../../src/core/choices.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { sources } from '../../src/extract/sources/index.ts';
import { createSqlFiles, parseHeader, splitList } from '../../src/warehouse/sql-files.ts';
import { loadTables, tablesForSource } from '../../src/warehouse/tables.ts';
import { tableRows } from '../helpers/documents.ts';
import { expectedTables } from '../helpers/expected/index.ts';
import { PULLED_WORKSPACES } from '../helpers/test-project.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';

/** What the recipes of CONTRIBUTING.md ask for. */
const read = (path: string) => readFileSync(join(PACKAGE_ROOT, path), 'utf8');
const readTests = (folder: string) =>
  readdirSync(join(PACKAGE_ROOT, folder))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => read(`${folder}/${name}`))
    .join('\n');
/** Names the place: `toContain` would print the whole text where the part is missing. */
function expectText(text: string, part: string | RegExp, place: string): void {
  expect(typeof part === 'string' ? text.includes(part) : part.test(text), `add ${part} to ${place}`).toBe(true);
}
const tables = await loadTables(createSqlFiles([PACKAGE_ROOT]));

describe('a playbook', () => {
  const lifecycles = readTests('test/playbooks');
  test.each(builtInPlaybooks.map(({ name }) => name))('%s has a test of its lifecycle', (name) => {
    expectText(lifecycles, `lifecycle('${name}', {`, 'test/playbooks');
  });

  const guards = read('test/system/faults/guards.test.ts');
  const lied = read('test/system/faults/playbooks.ts');
  test.each(builtInPlaybooks.map(({ name }) => name))('%s is among the system tests of faults', (name) => {
    expectText(guards, `'${name}'`, 'test/system/faults/guards.test.ts, with a change between plan and apply');
    expectText(lied, `{ playbook: '${name}', `, 'test/system/faults/playbooks.ts');
  });

  test('is a row of docs/playbooks.md', () => {
    const rows = builtInPlaybooks.map(
      ({ name, rule, description }) => `| \`${name}\` | \`${rule}\` | ${description} |`,
    );
    const listed = read('docs/playbooks.md').split('| Playbook | Rule | Does |\n|---|---|---|\n')[1]?.split('\n\n')[0];
    expect(listed?.split('\n')).toEqual(rows);
  });
});

test('docs/playbooks.md lists the playbooks that can be undone', () => {
  const listed = tableRows('docs/playbooks.md', '| Playbook | Operation that restores |').map(([cell = '']) => cell);
  const undoable = builtInPlaybooks.filter(({ actions }) =>
    Object.values(actions).some(({ undo }) => undo !== undefined),
  );
  expect(listed.sort()).toEqual(undoable.map(({ name }) => `\`${name}\``).sort());
});

describe('a rule', () => {
  const rules = readdirSync(join(PACKAGE_ROOT, 'queries/findings')).map((file) => basename(file, '.sql'));
  const tests = readTests('test/findings');
  test.each(rules)('%s is named by a test, and is a row of docs/findings.md', (name) => {
    expectText(tests, new RegExp(`['"\`]${name}['"\`]`, 'u'), 'test/findings');
    const { severity, worst, rule } = parseHeader(read(`queries/findings/${name}.sql`));
    const row = `\n| \`${name}\` | ${[severity, worst].filter(Boolean).join(' to ')} | ${rule} |\n`;
    expectText(read('docs/findings.md'), row, 'docs/findings.md');
  });

  test.each(rules)('%s says what several of its findings are, and what to do', (name) => {
    const { many, repair } = parseHeader(read(`queries/findings/${name}.sql`));
    expect({ many, repair }).toEqual({ many: expect.any(String), repair: expect.any(String) });
  });

  test.each(rules)('%s has sources that the overview depends on', (name) => {
    const known = splitList(parseHeader(read('queries/reports/overview/areas.sql')).sources);
    const { sources: own, elsewhere } = parseHeader(read(`queries/findings/${name}.sql`));
    expect([...known, 'none']).toEqual(expect.arrayContaining([...splitList(own), ...splitList(elsewhere)]));
  });
});

test('a shared view or macro says when it is defined, in words that are known', () => {
  const said = readdirSync(join(PACKAGE_ROOT, 'queries/warehouse')).flatMap((file) => {
    return parseHeader(read(`queries/warehouse/${file}`)).defined ?? [];
  });
  const times = ['before the views', 'after the views'];
  expect([...new Set(said)].sort()).toEqual(times.flatMap((time) => [time, `${time}, and where it is missing`]).sort());
});

describe('a source', () => {
  const FLAVORS = ['spec', 'hashicorp'] as const;
  const expected: ReturnType<typeof expectedTables>[] = [];
  beforeAll(async () => {
    for (const flavor of FLAVORS) {
      const sandbox = await startTestSandbox({ workspaces: PULLED_WORKSPACES, flavor });
      expected.push(expectedTables(sandbox, flavor));
      await sandbox.close();
    }
  });

  test.each(sources.map(({ name }) => name))('%s fills documented tables, and the sandbox has rows for it', (name) => {
    const filled = tablesForSource(name, tables).map((table) => table.name);
    const [main = ''] = filled;
    expect(
      expected.some((rows) => rows[main]?.length),
      `${main} has rows`,
    ).toBe(true);
    expect(filled.filter((table) => !expected.every((rows) => rows[table]))).toEqual([]);
    const documented = read('docs/warehouse.md');
    expect(filled.filter((table) => !documented.includes(`\`${table}\``))).toEqual([]);
  });
});

describe('a report', () => {
  const reports = readdirSync(join(PACKAGE_ROOT, 'queries/reports'), { withFileTypes: true })
    .filter(
      (entry) => entry.isDirectory() && existsSync(join(PACKAGE_ROOT, 'queries/reports', entry.name, 'summary.sql')),
    )
    .map(({ name }) => name);
  test.each(reports)('%s has both templates, a figure, and a summary with headline, title and order', (name) => {
    const summary = read(`queries/reports/${name}/summary.sql`);
    const { title, order } = parseHeader(summary);
    expect({ title, order }).toEqual({ title: expect.any(String), order: expect.any(String) });
    expect(summary).toMatch(/\bheadline\b/u);
    expect(read(`reports/${name}.hbs`)).toContain('{{figure ');
    expect(read(`reports/${name}.txt.hbs`)).not.toBe('');
    expectText(read('jobs/nightly.yaml'), name, 'jobs/nightly.yaml');
    expect(existsSync(join(PACKAGE_ROOT, `test/golden/${name}.txt`)), 'a golden file').toBe(true);
  });
});

describe('a saved query', () => {
  const cases = read('test/query/saved.test.ts');
  const queries = readdirSync(join(PACKAGE_ROOT, 'queries/saved')).map((file) => basename(file, '.sql'));
  test.each(queries)('%s has a case', (name) => expectText(cases, `'${name}'`, 'test/query/saved.test.ts'));
});

describe('an output format', () => {
  const formats = read('test/commands/sql-formats.test.ts');
  test.each(FORMATS)('%s is tested', (name) =>
    expectText(formats, new RegExp(`\\b${name}\\b`, 'u'), 'test/commands/sql-formats.test.ts'),
  );
});

describe('a command', async () => {
  const tests = readdirSync(join(PACKAGE_ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => read(join('test', path)))
    .join('\n');
  test.each((await defineProgram()).commands.map((command) => command.name()))('%s is run by a test', (name) => {
    expectText(tests, new RegExp(`\\[\\s*'${name}'`, 'u'), 'test/commands');
  });
});
