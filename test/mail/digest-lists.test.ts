import { describe, expect, test } from 'vitest';
import { subjectPath } from '../../src/tell/reports/subjects.ts';
import { createMailWarehouse, mailConfig, PLATFORM } from '../helpers/mail-warehouse.ts';
import { workspace } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';
import { drifting, FIRST, makeCritical, quietRun, SECOND, twoRuns } from './digest-runs.ts';

describe('the lists of a digest', () => {
  test('begin with open criticals, then what is new, then what is resolved, in both parts', async () => {
    const warehouse = await createMailWarehouse();
    await warehouse.pull(FIRST, { workspaces: [drifting('a'), drifting('b')] });
    await warehouse.evaluate(FIRST);
    await makeCritical(warehouse, ['a', 'b']);
    await warehouse.pull(SECOND, { workspaces: [drifting('a'), workspace('b'), drifting('c')] });
    await warehouse.evaluate(SECOND);
    await makeCritical(warehouse, ['a', 'b']);
    const { html, text, subject } = await warehouse.digest(SECOND);
    expect(subject).toMatch(/^Tidemark acme: 1 critical \(−1\), /u);
    for (const part of [text, html]) {
      const places = ['Critical and open: 1', 'Workspace a drifts', 'New: 1', 'Workspace c drifts', 'Resolved: 1'].map(
        (words) => part.indexOf(words, part.indexOf('Critical and open')),
      );
      expect(places.every((place, index) => place > (places[index - 1] ?? 0))).toBe(true);
      expect(part.indexOf('Numbers')).toBeGreaterThan(part.indexOf('Resolved: 1'));
      expect(part.indexOf('Still open')).toBeGreaterThan(part.indexOf('Numbers'));
    }
    expect(text).toContain('Workspace b drifts');
  });

  test('show a resolved critical finding as resolved, and in no red', async () => {
    const warehouse = await createMailWarehouse();
    await warehouse.pull(FIRST, { workspaces: [drifting('a')] });
    await warehouse.evaluate(FIRST);
    await makeCritical(warehouse, ['a']);
    await warehouse.pull(SECOND, { workspaces: [workspace('a')] });
    await warehouse.evaluate(SECOND);
    const { html, text } = await warehouse.digest(SECOND);
    expect(text).toMatch(
      /\[resolved\] Workspace a drifts.*\n +acme: drifted-workspace, was critical, open since 2026-11-18/u,
    );
    const resolved = html.slice(html.indexOf('Resolved: 1'), html.indexOf('Numbers'));
    expect(resolved).toContain('Workspace a drifts');
    expect(resolved).not.toMatch(/class="critical"|#b3261e|>critical</u);
  });

  test('mark a critical finding that is new', async () => {
    const warehouse = await twoRuns();
    await makeCritical(warehouse, ['a', 'c']);
    const { text } = await warehouse.digest(SECOND);
    const critical = text.slice(text.indexOf('Critical and open: 2'), text.indexOf('\nNew:'));
    expect(critical).toMatch(/Workspace c drifts.*\n.*, new, since 2026-11-19/u);
    expect(critical).toMatch(/Workspace a drifts.*\n.*drifted-workspace, since 2026-11-18/u);
    expect(text).toMatch(/New: 2 *\n/u);
  });

  const versions = [
    { version: '1.9.8', workspace_count: 3, workspaces: 'a, b, old' },
    { version: '1.5.0', workspace_count: 1, workspaces: 'fresh' },
  ];
  const provider = (version: string, workspaces: string) => ({
    name: 'aws',
    source: 'hashicorp/aws',
    version,
    workspace_count: workspaces.split(', ').length,
    workspaces,
  });

  test('have one line for several findings of a new workspace, although others share their causes', async () => {
    const warehouse = await createMailWarehouse();
    const first = ['a', 'b', 'old'].map((id) => workspace(id));
    await warehouse.pull(FIRST, {
      workspaces: first,
      tf_versions: versions.slice(0, 1),
      providers: [provider('5.0.0', 'a, b, old')],
      modules: [{ name: 'vpc', source: 'acme/vpc', version: '2.0.0', workspace_count: 2, workspaces: 'a, b' }],
    });
    await warehouse.evaluate(FIRST);
    await warehouse.pull(SECOND, {
      workspaces: [...first, workspace('fresh', { workspace_iac_version: '1.5.0' })],
      tf_versions: versions,
      providers: [provider('5.0.0', 'b'), provider('4.0.0', 'a, old, fresh')],
      modules: [
        { name: 'vpc', source: 'acme/vpc', version: '2.0.0', workspace_count: 2, workspaces: 'a, b' },
        { name: 'vpc', source: 'acme/vpc', version: '1.0.0', workspace_count: 1, workspaces: 'fresh' },
      ],
    });
    await warehouse.evaluate(SECOND);
    const { text } = await warehouse.digest(SECOND);
    const news = text.slice(text.indexOf('\nNew: 5'), text.indexOf('\nResolved'));
    expect(news.match(/^\[/gmu)).toHaveLength(2);
    expect(news).toMatch(
      /^\[info\] .*fresh .*, and 2 more findings\n +acme: module-sprawl, outdated-version, provider-sprawl, since 2026-11-19, new workspace$/mu,
    );
    expect(news).toMatch(/^\[info\] 2 uses of a provider are outdated: aws \(hashicorp\/aws\) 4\.0\.0 \(a, old\)$/mu);
    expect(text).toContain('findings.csv'); // the line does not name every finding
  });

  test('say with a verb what several resolved findings were', async () => {
    const warehouse = await createMailWarehouse();
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    await warehouse.pull(FIRST, { workspaces: ids.map((id) => drifting(id)) });
    await warehouse.evaluate(FIRST);
    await warehouse.pull(SECOND, { workspaces: ids.map((id) => workspace(id)) });
    await warehouse.evaluate(SECOND);
    const { text } = await warehouse.digest(SECOND);
    expect(text).toMatch(/^\[resolved\] 6 workspaces drift \(a, b, c, …\)$/mu);
  });

  test('count in a line of several findings those that returned and those that were not assessed', async () => {
    const warehouse = await createMailWarehouse();
    const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
    const unassessed = ['a', 'b'].map((id) => workspace(id, { drifted: null, resources_drifted: null }));
    await warehouse.pull(FIRST, { workspaces: ids.map((id) => drifting(id)) });
    await warehouse.evaluate(FIRST);
    await warehouse.database.run(`update findings set times_reopened = 3 where subject_name = 'c'`);
    await warehouse.pull(SECOND, { workspaces: [...unassessed, ...ids.slice(2).map((id) => drifting(id))] });
    await warehouse.evaluate(SECOND);
    const { text } = await warehouse.digest(SECOND);
    expect(text).toMatch(/^\[warning\] 6 workspaces drift .*\n.*, 1 returned, 2 not assessed by the last pull$/mu);
  });

  test('write every number of four digits with a separator', async () => {
    const warehouse = await createMailWarehouse();
    const ids = Array.from({ length: 1001 }, (_, index) => `w${index}`);
    await warehouse.pull(FIRST, { workspaces: ids.map((id) => workspace(id)) });
    await warehouse.evaluate(FIRST);
    await warehouse.pull(SECOND, { workspaces: ids.map((id) => drifting(id)) });
    await warehouse.evaluate(SECOND);
    const { text, subject } = await warehouse.digest(SECOND);
    expect(subject).toContain('1,001 drifting (+1,001)');
    expect(text).toContain('workspaces drifting: 1,001 (1,001 new)');
    expect(text).toContain('workspaces: 1,001 changed (1,001 by others)');
  });

  test('have one line for several findings of a subject that no other shares', async () => {
    const warehouse = await quietRun();
    await warehouse.pull(SECOND, { workspaces: [drifting('a', { checks_failed: 1 })] });
    await warehouse.evaluate(SECOND);
    const { text } = await warehouse.digest(SECOND);
    const news = text.slice(text.indexOf('\nNew: 2'), text.indexOf('\nResolved'));
    expect(news.match(/^\[/gmu)).toHaveLength(1);
    expect(news).toMatch(/, and 1 more finding\n +acme: drifted-workspace, failing-checks, since 2026-11-19$/mu);
  });
});

test('lines and subjects link to the pages of the product', async () => {
  const warehouse = await createMailWarehouse();
  await warehouse.pull(FIRST, {
    workspaces: [drifting('core/a b'), ...['x', 'y'].map((id) => workspace(id, { workspace_iac_version: '1.5.0' }))],
    tf_versions: [
      { version: '1.9.8', workspace_count: 1, workspaces: 'core/a b' },
      { version: '1.5.0', workspace_count: 2, workspaces: 'x, y' },
    ],
  });
  await warehouse.evaluate(FIRST);
  const base = 'https://x.example/app/acme/workspaces';
  const { html, text } = await warehouse.digest(FIRST);
  expect(html).toContain(`<a href="${base}/core%2Fa%20b" style="color:#0b57d0">Workspace core/a b drifts`);
  expect(html).toContain(
    `2 workspaces of version 1.5.0 are outdated (<a href="${base}/x" style="color:#0b57d0">x</a>, <a href="${base}/y"`,
  );
  expect(text).toContain(`\n    ${base}/core%2Fa%20b\n`);
  expect(text).toContain('2 workspaces of version 1.5.0 are outdated (x, y)\n');
});

test('lines link to the pages of the subjects where the reports are served', async () => {
  const warehouse = await createMailWarehouse();
  await warehouse.pull(FIRST, { workspaces: [drifting('a'), drifting('b')] });
  await warehouse.evaluate(FIRST);
  const config = mailConfig(await tempFolder(), { reportsUrl: 'https://reports.internal/t/', subjectPages: 1 });
  const { html, text } = await warehouse.digest(FIRST, { config });
  const page = `https://reports.internal/t/${subjectPath({ target: 'acme', type: 'workspace', id: 'ws-a' })}`;
  expect(html).toContain(`, <a href="${page}" style="color:#0b57d0">history</a>`);
  expect(text).toContain(`\n    History: ${page}\n`);
  expect(html.match(/>history</gu)).toHaveLength(1); // the other workspace has no page
  expect((await warehouse.digest(FIRST)).html).not.toContain('history');
  const plain = mailConfig(config.directory, {
    reportsUrl: config.reportsUrl,
    targets: [{ ...PLATFORM, links: false }],
  });
  expect((await warehouse.digest(FIRST, { config: plain })).html).toContain(
    `<a href="${page}" style="color:#0b57d0">Workspace a`,
  );
});
