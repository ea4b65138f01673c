import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { testProject } from '../helpers/test-project.ts';

describe('tables', () => {
  test('needs neither configuration nor warehouse', async () => {
    const place = await testProject({ workspaces: 5 });
    const { exit, stdout } = await place.tidemark(['tables', '--config', 'nowhere.yaml']);
    expect(exit).toBe(0);
    expect(stdout).toMatch(/^workspaces +one row per workspace .*workspaces_history, workspaces_at\(t\)/mu);
  });

  test('describes each column of a table, also under the names of its history', async () => {
    const place = await testProject({ workspaces: 5 });
    const { stdout } = await place.tidemark(['tables', 'workspaces']);
    expect(stdout).toMatch(/^drifted +boolean +whether drift was detected; null means not assessed, never clean$/mu);
    expect((await place.tidemark(['tables', 'workspaces_history'])).stdout).toBe(stdout);
    const { columns } = (await place.tidemark(['tables', 'keys', '--json'])).json<{ columns: { name: string }[] }>();
    expect(columns.map(({ name }) => name)).toContain('min_enabled_version');
    const wrong = await place.tidemark(['tables', 'workspces']);
    expect(wrong).toMatchObject({ exit: 2, stderr: expect.stringContaining('did you mean workspaces?') });
  });

  test('describes the views that people query as tables', async () => {
    const place = await testProject({ workspaces: 5 });
    for (const name of [
      'lifecycle',
      'version_support',
      'versions_in_use',
      'version_policy',
      'deadlines',
      'changes',
      'certificates',
    ]) {
      const { exit, stdout } = await place.tidemark(['tables', name]);
      expect([exit, stdout]).toEqual([0, expect.stringMatching(new RegExp(`^${name}: one row per `, 'u'))]);
      expect((await place.tidemark(['tables', `${name}_at`])).stdout).toBe(stdout);
    }
    expect((await place.tidemark(['tables'])).stdout).toMatch(/^version_support +one row per target and version/mu);
    expect((await place.tidemark(['tables', 'lifecycle'])).stdout).toMatch(
      /^support_ends_at +date +when its support/mu,
    );
  });

  test('shows a custom table beside the configuration', async () => {
    const place = await testProject({ workspaces: 5 });
    await mkdir(join(place.folder, 'queries', 'tables'), { recursive: true });
    await writeFile(
      join(place.folder, 'queries', 'tables', 'notes.sql'),
      '-- grain: one row per note\ncreate table if not exists notes (\n  note varchar -- the note\n);\n',
    );
    expect((await place.tidemark(['tables'])).stdout).toMatch(/^notes +one row per note/mu);
    await place.pull(['--source', 'keys']);
    expect(await place.rows('select * from notes')).toEqual([]);
  });
});
