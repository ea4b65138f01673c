import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { archiveFiles, removeObsolete } from '../../src/tell/reports/archive.ts';
import { renderReports } from '../../src/tell/reports/index.ts';
import { createTarget } from '../helpers/http-service.ts';
import { createReportWarehouse, workspace } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const day = (date: number) => `2026-11-${String(date).padStart(2, '0')}T02:15:00Z`;

describe('the archive and the index', () => {
  it('keep each day for reportDays, and leave other files alone', async () => {
    const warehouse = await createReportWarehouse();
    const out = join(warehouse.directory, 'out');
    await mkdir(join(out, 'archive', 'notes'), { recursive: true });
    await writeFile(join(out, 'mine.txt'), 'mine');
    for (const date of [1, 2, 3, 4]) {
      await warehouse.pull(day(date), { workspaces: [workspace('a', { drifted: date % 2 === 0 })] });
      await renderReports(warehouse.options(day(date), { reportDays: 2, names: ['drift'], subjectPages: 0 }));
    }
    expect((await readdir(join(out, 'archive'))).sort()).toEqual(['2026-11-02', '2026-11-03', '2026-11-04', 'notes']);
    expect(existsSync(join(out, 'mine.txt'))).toBe(true);
    const then = JSON.parse(await readFile(join(out, 'archive', '2026-11-02', 'drift.json'), 'utf8'));
    expect(then).toMatchObject({ as_of: day(2), summary: { drifted: 1 } });
    expect(await readdir(out)).not.toContainEqual(expect.stringContaining('.next'));
  });

  it('keep a file as it was where its copy fails', async () => {
    const out = await tempFolder();
    const archived = join(out, 'archive', '2026-11-01');
    await mkdir(archived, { recursive: true });
    await writeFile(join(archived, 'drift.json'), 'whole');
    await mkdir(join(out, 'drift.json'));
    await expect(archiveFiles(out, '2026-11-01', ['drift.json'])).rejects.toThrow();
    expect(await readdir(archived)).toEqual(['drift.json']);
    expect(await readFile(join(archived, 'drift.json'), 'utf8')).toBe('whole');
  });

  it('are removed by several processes at once without an error', async () => {
    const out = await tempFolder();
    for (let table = 0; table < 50; table++) await writeFile(join(out, `drift.t${table}.csv`), '');
    const remove = () => removeObsolete(out, 'drift', new Set());
    await Promise.all(Array.from({ length: 8 }, remove));
    expect(await readdir(out)).toEqual([]);
  });

  it('remove reports of earlier times that were written more than reportDays ago', async () => {
    const warehouse = await createReportWarehouse();
    const past = join(warehouse.directory, 'out', 'as-of');
    for (const [name, written] of [
      ['2026-10-01T021500Z', day(3)],
      ['2026-11-03T021500Z', day(1)],
      ['mine', day(1)],
    ] as const) {
      await mkdir(join(past, name), { recursive: true });
      await writeFile(join(past, name, 'drift.html'), '');
      await utimes(join(past, name), new Date(written), new Date(written));
    }
    await warehouse.pull(day(4), { workspaces: [workspace('a')] });
    await renderReports(warehouse.options(day(4), { reportDays: 2, names: ['drift'], subjectPages: 0 }));
    expect((await readdir(past)).sort()).toEqual(['2026-10-01T021500Z', 'mine']);
  });

  it('list the reports with their headlines, the runs, and the days', async () => {
    const warehouse = await createReportWarehouse();
    for (const date of [1, 2]) {
      await warehouse.pull(day(date), { workspaces: [workspace('a', { drifted: true })] });
      await renderReports(warehouse.options(day(date), { names: ['drift'], subjectPages: 0 }));
    }
    const index = await readFile(join(warehouse.directory, 'out', 'index.html'), 'utf8');
    expect(index).toContain('<a href="drift.html">Drift</a>');
    expect(index).toContain('1 of 1 workspace drifts; nothing changed');
    expect(index).toContain('<td class="t"><a href="runs/run-2.html">run-2</a></td>');
    expect(index).toContain('href="archive/2026-11-01/index.html"');
    const archived = await readFile(join(warehouse.directory, 'out', 'archive', '2026-11-01', 'index.html'), 'utf8');
    expect(archived).toContain('href="../../index.html"');
    expect(archived).toContain('<a href="drift.html">Drift</a>');
  });

  it('list a configured target that was never pulled, and not one that is left out', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(day(1), { workspaces: [workspace('a')] });
    await warehouse.pull(day(1), { keys: 'left-out' }, 'quiet');
    const targets = ['acme', 'never-run', 'quiet'].map((name) =>
      createTarget('platform', 'http://localhost', { name }),
    );
    await renderReports(warehouse.options(day(1), { names: ['drift'], subjectPages: 0, targets }));
    const index = await readFile(join(warehouse.directory, 'out', 'index.html'), 'utf8');
    const rows = index.matchAll(
      /<tr><th scope="row">(.*?)<\/th><td><span class="tag" data-value="(\w+)">.*?<td class="n">(.*?)<\/td>/gu,
    );
    expect([...rows].map(([, ...cells]) => cells)).toEqual([
      ['never-run', 'stale', 'never pulled'],
      ['acme', 'fresh', '1 of 1'],
    ]);
  });

  it('show reports of an earlier call when only one is rendered', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(day(1), { workspaces: [workspace('a')] });
    // The registry was never pulled.
    await renderReports(warehouse.options(day(1), { names: ['version-sprawl'], subjectPages: 0 }));
    await renderReports(warehouse.options(day(1), { names: ['check-failure'], subjectPages: 0 }));
    const out = join(warehouse.directory, 'out');
    const index = await readFile(join(out, 'index.html'), 'utf8');
    const { summary } = JSON.parse(await readFile(join(out, 'version-sprawl.json'), 'utf8'));
    expect(index).toContain('href="version-sprawl.html"');
    expect(index).toContain('href="check-failure.html"');
    expect(index).toContain(`<bdi>${summary.headline}</bdi>`);
    const links = async (page: string) => (await readFile(join(out, page), 'utf8')).match(/"[\w-]+\.html"/gu);
    expect(await links('check-failure.html')).toContain('"version-sprawl.html"');
    expect(await links('check-failure.html')).not.toContain('"drift.html"');
    // the archive of the next day does not have it
    await warehouse.pull(day(2), { workspaces: [workspace('a')] });
    await renderReports(warehouse.options(day(2), { names: ['check-failure'], subjectPages: 0 }));
    expect(await links('archive/2026-11-02/check-failure.html')).not.toContain('"version-sprawl.html"');
  });

  it('read no rows of a report of an earlier call: they may not fit into memory', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(day(1), { workspaces: [workspace('a')] });
    await renderReports(warehouse.options(day(1), { names: ['drift'], subjectPages: 0 }));
    const out = join(warehouse.directory, 'out');
    const text = await readFile(join(out, 'drift.json'), 'utf8');
    const { summary } = JSON.parse(text);
    await writeFile(join(out, 'drift.json'), `${text.trimEnd().slice(0, -1)}, "more": [${'{},'.repeat(100_000)}`);
    await renderReports(warehouse.options(day(1), { names: ['check-failure'], subjectPages: 0 }));
    expect(await readFile(join(out, 'index.html'), 'utf8')).toContain(`<bdi>${summary.headline}</bdi>`);
  });

  it('list a report that an earlier version wrote without its state', async () => {
    const warehouse = await createReportWarehouse();
    await warehouse.pull(day(1), { workspaces: [workspace('a')] });
    await renderReports(warehouse.options(day(1), { names: ['check-failure'], subjectPages: 0 }));
    const out = join(warehouse.directory, 'out');
    const { state: _, ...earlier } = JSON.parse(await readFile(join(out, 'check-failure.json'), 'utf8'));
    await writeFile(join(out, 'check-failure.json'), JSON.stringify(earlier));
    await renderReports(warehouse.options(day(1), { names: ['drift'], subjectPages: 0 }));
    const index = await readFile(join(out, 'index.html'), 'utf8');
    expect(index).toContain(`<p><bdi>${earlier.summary.headline}</bdi></p>`);
  });

  it.each(['{"report": "check-', '{}', '[]'])(
    'say which report has a damaged file, and list the others: %s',
    async (text) => {
      const warehouse = await createReportWarehouse();
      await warehouse.pull(day(1), { workspaces: [workspace('a')] });
      await renderReports(warehouse.options(day(1), { names: ['check-failure'], subjectPages: 0 }));
      const out = join(warehouse.directory, 'out');
      await writeFile(join(out, 'check-failure.json'), text);
      await renderReports(warehouse.options(day(1), { names: ['drift'], subjectPages: 0 }));
      const index = await readFile(join(out, 'index.html'), 'utf8');
      expect(index).toContain('<bdi>0 of 1 workspace drifts');
      expect(index).toMatch(
        /data-value="unknown">unknown<\/span> <bdi>check-failure\.json is damaged: write it again/u,
      );
    },
  );

  it('reject an unknown report with a suggestion, and write nothing', async () => {
    const warehouse = await createReportWarehouse();
    await expect(renderReports(warehouse.options(day(1), { names: ['drfit'] }))).rejects.toMatchObject({
      code: 'USAGE',
      hint: 'did you mean drift?',
    });
    expect(existsSync(join(warehouse.directory, 'out'))).toBe(false);
  });
});
