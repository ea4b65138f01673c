import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseJson, printJson } from '../../src/core/json.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { toSpreadsheetCsv } from '../../src/tell/reports/format.ts';
import { renderReports } from '../../src/tell/reports/index.ts';
import { createTemplateEngine } from '../../src/tell/reports/templates.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { codeBlocks } from '../helpers/documents.ts';
import { createReportWarehouse, type ReportWarehouse, workspace } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const AS_OF = '2026-11-01T02:15:00Z';

/** Renders a report from files beside the configuration. */
async function renderOwn(warehouse: ReportWarehouse, files: Readonly<Record<string, string>>, name = 'mine') {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(warehouse.directory, path, '..'), { recursive: true });
    await writeFile(join(warehouse.directory, path), content);
  }
  const roots = [warehouse.directory, PACKAGE_ROOT];
  const options = warehouse.options(AS_OF, { files: createSqlFiles(roots), names: [name], subjectPages: 0 });
  await renderReports(options);
  const read = (extension: string) => readFile(join(options.out, `${name}.${extension}`), 'utf8');
  return {
    html: await read('html'),
    text: await read('txt'),
    json: JSON.parse(await read('json')) as Record<string, unknown>,
  };
}

const SUMMARY =
  '-- title: Mine\n-- sources: workspaces\nselect count(*) as workspaces, null as headline from workspaces_at($as_of)';
const LIST =
  '-- title: My list\n-- limit: all\nselect workspace_name, current_rum_count from workspaces_at($as_of) order by all';
const PAGE =
  '{{#> page}}{{#> figures}}{{figure summary.workspaces "workspaces" rows="list"}}{{/figures}}{{table tables.list}}{{/page}}';
const MINE = {
  'queries/reports/mine/summary.sql': SUMMARY,
  'queries/reports/mine/list.sql': LIST,
  'reports/mine.hbs': PAGE,
};

it('a summary without a headline has a page, a text and a line of the index', async () => {
  const warehouse = await createReportWarehouse();
  await warehouse.pull(AS_OF, { workspaces: [workspace('a')] });
  const { html, text, json } = await renderOwn(warehouse, {
    'queries/reports/mine/summary.sql':
      '-- title: Mine\n-- sources: workspaces\n-- rules: dead-agent\nselect 1 as workspaces',
    'reports/mine.hbs': '{{#> page}}{{summary.workspaces}}{{/page}}',
  });
  expect([html, text]).toEqual([
    expect.stringContaining('<h1>Mine</h1>'),
    expect.stringMatching(/^Mine\n====\nUNKNOWN\nAs of/u),
  ]);
  expect(json.summary).toEqual({ workspaces: 1, headline: null });
});

it('a dataset of any length is whole in its files, in what follows from all rows, and where a template names it', async () => {
  const warehouse = await createReportWarehouse();
  await warehouse.pull(AS_OF, { workspaces: [workspace('a')] });
  const part = `[{'kind': 'good', 'value': n, 'text': ''}]`;
  const select = (count: number) =>
    `select n, 'a\n]\n' as name, ${part} as part, ['x', null] as tags, if(n = 1500, 18446744073709551615, 1)::ubigint as large, null as none
     from range(1, ${count} + 1) t(n) order by n`;
  const { html, text } = await renderOwn(warehouse, {
    ...MINE,
    'queries/reports/mine/empty.sql': 'select 1 as n where false',
    'queries/reports/mine/long.sql': `-- limit: 2\n-- strips: part=bar\n${select(5000)}`,
    'queries/reports/mine/named.sql': `-- limit: 3\nselect n from range(5000) t(n) order by n`,
    'reports/mine.hbs':
      '{{#> page}}{{table tables.long}}{{table tables.named}}<p>{{empty.length}} of {{long.length}}</p>{{#if empty}}no{{/if}}{{/page}}',
    'reports/mine.txt.hbs':
      '{{long.4999.n}} {{#with (lookup named 4999)}}{{n}}{{/with}} {{#each named}}{{n}} {{/each}}',
  });
  const read = (file: string) => readFile(join(warehouse.directory, 'out', file), 'utf8');
  const rows = await warehouse.database.rows(select(5000));
  const written = await read('mine.json');
  expect(written).toBe(printJson(parseJson(written)).concat('\n'));
  expect(parseJson(written)).toMatchObject({ empty: [], long: rows, list: [{ workspace_name: 'a' }] });
  expect(await read('mine.long.csv')).toBe(toSpreadsheetCsv(rows));
  expect(text.trim().split(' ')).toHaveLength(5002);
  expect(text).toMatch(/^5000 4999 0 1 /u);
  expect(html).toContain('<p>0 of 5000</p>');
  expect(html).toContain('first 2 of 5,000 rows');
  expect(/<rect class="part is-good"[^>]* width="(\d+)"/u.exec(html)?.[1]).toBe('2'); // of 5,000, which the page does not show
  // A query that fails after others were written replaces no file, and leaves none behind.
  const failing = {
    'queries/reports/mine/list.sql': 'select 1 as other',
    'queries/reports/mine/named.sql': "select error('late')",
  };
  await expect(renderOwn(warehouse, failing)).rejects.toThrow(
    'queries/reports/mine/named.sql: Invalid Input Error: late',
  );
  expect(await read('mine.json')).toBe(written);
  const others = /^(?:archive|index|mine|runs|subjects)/u;
  expect((await readdir(join(warehouse.directory, 'out'))).filter((name) => !others.test(name))).toEqual([]);
});

it('the example of docs/custom-reports.md works', async () => {
  const blocks = codeBlocks('docs/custom-reports.md').map(({ text }) =>
    /^(?:--|\{\{!--) (\S+).*\n([\s\S]*)$/u.exec(text),
  );
  const files = Object.fromEntries(blocks.map((block) => [block?.[1] ?? '', block?.[2] ?? '']));
  const warehouse = await createReportWarehouse();
  const place = (id: string, vcs_repo_identifier: string | null) => ({ ...workspace(id), vcs_repo_identifier });
  await warehouse.pull(AS_OF, { workspaces: [place('a', 'acme/net'), place('b', 'acme/net'), place('c', null)] });
  const { html, text, json } = await renderOwn(warehouse, files, 'repositories');
  expect(json.summary).toMatchObject({ repositories: 1, without_one: 1 });
  expect(json.by_repository).toEqual([
    { vcs_repo_identifier: 'acme/net', workspaces: 2 },
    { vcs_repo_identifier: null, workspaces: 1 },
  ]);
  expect(text).toContain('1 of 3 workspaces have no repository');
  expect(html).toContain('By repository');
});

it('a folder in place of a template, and a text that no page can hold, fail their report alone', async () => {
  const warehouse = await createReportWarehouse();
  await warehouse.pull(AS_OF, { workspaces: [workspace('a')] });
  for (const name of ['folder', 'long'])
    await mkdir(join(warehouse.directory, `queries/reports/${name}`), { recursive: true });
  await mkdir(join(warehouse.directory, 'reports/folder.hbs'), { recursive: true });
  await writeFile(join(warehouse.directory, 'reports/long.hbs'), '{{summary.text}}');
  await writeFile(join(warehouse.directory, 'queries/reports/folder/summary.sql'), SUMMARY);
  await writeFile(
    join(warehouse.directory, 'queries/reports/long/summary.sql'),
    "-- title: Long\nselect repeat('x', 540000000) as text, null as headline",
  );
  const failed = new Map<string, string>();
  const rendered = await renderReports(
    warehouse.options(AS_OF, {
      files: createSqlFiles([warehouse.directory, PACKAGE_ROOT]),
      names: ['folder', 'long', 'drift'],
      subjectPages: 0,
      onFailure: (name, { message }) => failed.set(name, message),
    }),
  );
  expect(rendered.map(({ name }) => name)).toEqual(['drift']);
  expect(failed.get('folder')).toContain('folder.hbs cannot be read: ');
  expect(failed.get('long')).toBe(
    'queries/reports/long/summary.sql: a text of 540,000,000 bytes is longer than 536,870,888',
  );
});

it('has partials as they were when it began, and each template as it is now', async () => {
  const root = await tempFolder();
  await mkdir(join(root, 'reports', 'partials'), { recursive: true });
  const create = async (partial: string) => {
    await writeFile(join(root, 'reports', 'partials', 'own.hbs'), partial);
    return createTemplateEngine([root], 'html');
  };
  const first = await create('one');
  expect(first.render('x', '{{> own}}', {})).toBe('one');
  expect(first.render('x', 'now {{> own}}', {})).toBe('now one');
  expect((await create('two')).render('x', '{{> own}}', {})).toBe('two');
  expect(first.render('x', '{{> own}}', {})).toBe('one');
});

describe('a value that a template would not escape', () => {
  const render = async (template: string, partial = '') => {
    const root = await tempFolder();
    await mkdir(join(root, 'reports', 'partials'), { recursive: true });
    await writeFile(join(root, 'reports', 'partials', 'own.hbs'), partial);
    return createTemplateEngine([root], 'html').render('reports/mine.hbs', template, { name: '<b>' });
  };

  it.each(['{{{name}}}', '{{&name}}', '{{#if name}}\n{{{ name }}}{{/if}}', '{{{this.name}}}', '{{{time name}}}'])(
    'is refused in %j',
    async (template) => {
      await expect(render(template)).rejects.toThrow(
        /reports\/mine\.hbs: line [12]: \{\{\{[a-z.]+\}\}\} would not be escaped/u,
      );
    },
  );

  it('is refused in a partial, by its name', async () => {
    await expect(render('{{> own}}', '{{{name}}}')).rejects.toThrow('reports/partials/own.hbs: line 1: {{{name}}}');
  });

  it('is written where the template says that it is trusted', async () => {
    expect(await render('{{{trusted name}}} {{trusted name}} {{name}}')).toBe('<b> &lt;b&gt; &lt;b&gt;');
  });

  it('needs no such word in a template of text', async () => {
    const engine = createTemplateEngine([await tempFolder()], 'text');
    expect(engine.render('x', '{{{name}}}', { name: '<b>' })).toBe('<b>');
  });
});

describe('a custom report', () => {
  it('needs only SQL and a template', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(AS_OF, { workspaces: [workspace('alpha')] });
    const { html, text, json } = await renderOwn(warehouse, MINE);
    expect(html).toContain('<td>alpha</td>');
    expect(html).toContain('select workspace_name, current_rum_count');
    expect(text).toContain('My list (1)');
    expect(json).toMatchObject({ report: 'mine', summary: { workspaces: 1 }, list: [{ workspace_name: 'alpha' }] });
  });

  it('overrides single queries of a report of the package', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(AS_OF, { workspaces: [workspace('alpha', { drifted: true })] });
    const own = await renderOwn(
      warehouse,
      { 'queries/reports/drift/by_project.sql': "-- title: Mine instead\nselect 'x' as x" },
      'drift',
    );
    expect(own.json).toMatchObject({ summary: { drifted: 1 }, by_project: [{ x: 'x' }] });
    expect(own.html).toContain('Mine instead');
  });

  it.each([
    [
      'a query that fails',
      { 'queries/reports/mine/list.sql': '-- title: Mine\n/* a\n   b */\nselect nothing' },
      /queries\/reports\/mine\/list\.sql:4: .*nothing/u,
    ],
    [
      'the state of the sources, overridden',
      { 'queries/reports/freshness.sql': 'select nothing' },
      /queries\/reports\/freshness\.sql:1: .*nothing/u,
    ],
    [
      'a summary of two rows',
      { 'queries/reports/mine/summary.sql': 'select 1 as a union all select 2' },
      /summary\.sql must return exactly one row/u,
    ],
    [
      'an unknown name in an expression',
      { 'reports/mine.hbs': '{{#> page}}{{sumary.workspaces}}{{/page}}' },
      /reports\/mine\.hbs: line 1: \S+ is not defined/u,
    ],
    [
      'an unknown name as argument of a helper',
      { 'reports/mine.hbs': '{{#> page}}{{number summary.worksapces}}{{/page}}' },
      /reports\/mine\.hbs: \{\{number\}\}/u,
    ],
    [
      'an unknown name in a condition',
      { 'reports/mine.hbs': '{{#> page}}{{#if summary.nope}}x{{/if}}{{/page}}' },
      /reports\/mine\.hbs: \{\{if\}\}/u,
    ],
    [
      'a figure with an unknown dataset',
      { 'reports/mine.hbs': '{{#> page}}{{figure 1 "x" rows="nope"}}{{/page}}' },
      /unknown dataset nope/u,
    ],
    [
      'a dataset with a reserved name',
      { 'queries/reports/mine/sources.sql': 'select 1' },
      /sources\.sql: `sources` is a reserved name/u,
    ],
    [
      'an unknown line of a header',
      { 'queries/reports/mine/list.sql': '-- souces: workspaces\nselect 1 as x' },
      'queries/reports/mine/list.sql: unknown header line `-- souces: …`: did you mean sources?',
    ],
    [
      'a source that fills no table',
      { 'queries/reports/mine/list.sql': '-- sources: workspacs\nselect 1 as x' },
      'queries/reports/mine/list.sql: the header line `-- sources: …` names workspacs, which fills no table: did you mean workspaces?',
    ],
    [
      'a rule that does not exist',
      { 'queries/reports/mine/summary.sql': '-- rules: dead-agents\nselect 1 as x' },
      'queries/reports/mine/summary.sql: the header line `-- rules: …` names dead-agents, which is no rule: did you mean dead-agent?',
    ],
    [
      'a number of what is unknown that the summary lacks',
      { 'queries/reports/mine/summary.sql': '-- unknown: not_asked\nselect 1 as not_assessed' },
      'the header line `-- unknown: …` names not_asked, which is no column of the summary: did you mean not_assessed?',
    ],
    [
      'a number of rows that the summary lacks',
      { 'queries/reports/mine/list.sql': '-- counted: workspace\nselect 1 as x' },
      'the header line `-- counted: …` names workspace, which is no column of the summary: did you mean workspaces?',
    ],
    [
      'a figure of a source that is none of the report',
      { 'reports/mine.hbs': '{{#> page}}{{figure 1 "x" sources="workspaces, agents"}}{{/page}}' },
      'reports/mine.hbs: {{figure}}: the report has no source agents',
    ],
    [
      'an unknown line of the header of a table',
      { 'queries/tables/own.sql': '-- volatil: yes\ncreate table own (\n  target varchar -- target\n)' },
      'queries/tables/own.sql: unknown header line `-- volatil: …`: did you mean volatile?',
    ],
    [
      'an unknown column in the header of a table',
      { 'queries/tables/own.sql': '-- past: made\ncreate table own (\n  made_at timestamptz -- when\n)' },
      'queries/tables/own.sql: its header names made, which is no column with a comment: did you mean made_at?',
    ],
    [
      'an unknown value in the header of a table',
      { 'queries/tables/own.sql': '-- volatile: true\ncreate table own (\n  target varchar -- target\n)' },
      'queries/tables/own.sql: the header line `-- volatile: …` is neither yes nor no',
    ],
    [
      'an unknown line of the header of a kind of subjects',
      { 'queries/subjects/own.sql': '-- subjects: own\nselect 1' },
      'queries/subjects/own.sql: unknown header line `-- subjects: …`: did you mean subject?',
    ],
    [
      'a kind of subjects of no table',
      { 'queries/subjects/own.sql': '-- subject: own\n-- table: workspace\nselect 1' },
      'queries/subjects/own.sql: unknown table workspace: did you mean workspaces?',
    ],
    [
      'a query of two statements',
      { 'queries/reports/mine/list.sql': 'select 1 as x; select 2 as x' },
      /queries\/reports\/mine\/list\.sql: .*several/u,
    ],
    ['an unknown parameter', { 'queries/reports/mine/list.sql': 'select $nope as x' }, /\$nope/u],
  ])('is rejected, naming its file, for %s', async (_, files, message) => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(AS_OF, { workspaces: [] });
    await expect(renderOwn(warehouse, { ...MINE, ...files })).rejects.toThrow(message);
  });
});
