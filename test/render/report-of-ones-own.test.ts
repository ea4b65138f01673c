import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { renderReports } from '../../src/render/index.ts';
import { sqlFiles } from '../../src/warehouse/sql-files.ts';
import { type Estate, openEstate, workspace } from '../helpers/report-estate.ts';

const AS_OF = '2026-11-01T02:15:00Z';

/** Renders a report of a user's own files beside the configuration; the text of its pages. */
async function renderOwn(estate: Estate, files: Readonly<Record<string, string>>, name = 'mine') {
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(estate.directory, path, '..'), { recursive: true });
    await writeFile(join(estate.directory, path), content);
  }
  const roots = [estate.directory, PACKAGE_ROOT];
  const options = estate.options(AS_OF, { roots, files: sqlFiles(roots), names: [name] });
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
const LIST = '-- title: My list\nselect workspace_name, current_rum_count from workspaces_at($as_of) order by all';
const PAGE =
  '{{#> page}}{{#> figures}}{{figure summary.workspaces "workspaces" rows="list"}}{{/figures}}{{table tables.list}}{{/page}}';
const MINE = {
  'queries/reports/mine/summary.sql': SUMMARY,
  'queries/reports/mine/list.sql': LIST,
  'reports/mine.hbs': PAGE,
};

describe("a report of one's own", () => {
  it('is SQL and a template, nothing more', async () => {
    const estate = await openEstate();
    await estate.night(AS_OF, { workspaces: [workspace('alpha')] });
    const { html, text, json } = await renderOwn(estate, MINE);
    expect(html).toContain('<bdi>alpha</bdi>');
    expect(html).toContain('select workspace_name, current_rum_count');
    expect(text).toContain('My list (1)');
    expect(json).toMatchObject({ report: 'mine', summary: { workspaces: 1 }, list: [{ workspace_name: 'alpha' }] });
  });

  it("takes the place of the package's report of that name, query by query", async () => {
    const estate = await openEstate();
    await estate.night(AS_OF, { workspaces: [workspace('alpha', { drifted: true })] });
    const own = await renderOwn(
      estate,
      { 'queries/reports/drift/by_project.sql': "-- title: Mine instead\nselect 'x' as x" },
      'drift',
    );
    expect(own.json).toMatchObject({ summary: { drifted: 1 }, by_project: [{ x: 'x' }] });
    expect(own.html).toContain('Mine instead');
  });

  it.each([
    [
      'a query that is wrong',
      { 'queries/reports/mine/list.sql': 'select nothing' },
      /queries\/reports\/mine\/list\.sql: .*nothing/u,
    ],
    [
      'a summary of two rows',
      { 'queries/reports/mine/summary.sql': 'select 1 as a union all select 2' },
      /summary\.sql must give exactly one row/u,
    ],
    [
      'an unknown name in a place',
      { 'reports/mine.hbs': '{{#> page}}{{sumary.workspaces}}{{/page}}' },
      /reports\/mine\.hbs: .*not defined/u,
    ],
    [
      'an unknown name given to a helper',
      { 'reports/mine.hbs': '{{#> page}}{{number summary.worksapces}}{{/page}}' },
      /reports\/mine\.hbs: \{\{number\}\}/u,
    ],
    [
      'an unknown name in a condition',
      { 'reports/mine.hbs': '{{#> page}}{{#if summary.nope}}x{{/if}}{{/page}}' },
      /reports\/mine\.hbs: \{\{if\}\}/u,
    ],
    [
      'a number that links to rows there are not',
      { 'reports/mine.hbs': '{{#> page}}{{figure 1 "x" rows="nope"}}{{/page}}' },
      /there is no dataset nope/u,
    ],
    [
      'a dataset with the name of something else',
      { 'queries/reports/mine/sources.sql': 'select 1' },
      /sources\.sql: every report has a `sources` already/u,
    ],
    ['a parameter that there is not', { 'queries/reports/mine/list.sql': 'select $nope as x' }, /\$nope/u],
  ])('is refused with its file for %s', async (_, files, message) => {
    const estate = await openEstate();
    await estate.night(AS_OF, { workspaces: [] });
    await expect(renderOwn(estate, { ...MINE, ...files })).rejects.toThrow(message);
  });
});
