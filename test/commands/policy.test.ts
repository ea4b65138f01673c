import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changePublished } from '../helpers/change-warehouse.ts';
import { pulledProject, testProject } from '../helpers/test-project.ts';

async function writePolicy(folder: string, text: string): Promise<void> {
  await mkdir(join(folder, 'policy'), { recursive: true });
  await writeFile(join(folder, 'policy', 'versions.yaml'), text);
}

test('policy check names the line and field that is wrong, and so does a pull', async () => {
  const project = await testProject({ workspaces: 5, warehouse: 'none' });
  const { folder, tidemark } = project;
  expect(await tidemark(['policy', 'check'])).toMatchObject({ exit: 2, stderr: expect.stringContaining('policy.md') });
  await writePolicy(folder, 'tools:\n  terraform: { minimum: 1.10 }\n');
  const line = 'versions.yaml:2: tools.terraform.minimum: must be a version in quotes, such as "1.10"';
  for (const words of [['policy', 'check'], ['pull']]) {
    expect(await tidemark(words)).toMatchObject({ exit: 2, stderr: expect.stringContaining(line) });
  }
  expect((await tidemark(['doctor'])).stdout).toContain(line);
  await writePolicy(folder, 'tools: { terraform: { denied: [{ versions: 1.9.0 }] } }\n');
  expect((await tidemark(['policy', 'check'])).stderr).toContain('.denied[0].reason: is required\n');
  const impossible = 'products: { vault: { denied: [{ versions: ">= 1.10.0, < 1.9.0", reason: x }] } }';
  await writeFile(join(folder, 'other.yaml'), impossible);
  expect(await tidemark(['policy', 'check', 'other.yaml'])).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('error: other.yaml: vault: denied: no version is in >= 1.10.0, < 1.9.0'),
  });
  await writeFile(join(folder, 'other.yaml'), 'products: { vault: { minimum: 1.10.0, recommended: 1.9.0 } }');
  expect(await tidemark(['policy', 'check', 'other.yaml'])).toMatchObject({
    exit: 2,
    stderr: expect.stringContaining('error: other.yaml: vault: recommended: 1.9.0 is below the minimum 1.10.0'),
  });
  await writeFile(join(folder, 'other.yaml'), 'products: { vault: { minimum: 1.9.0, recommended: "1.9" } }');
  expect(await tidemark(['policy', 'check', 'other.yaml'])).toMatchObject({
    exit: 0,
    stdout: expect.stringContaining('can be compared after the next pull'),
  });
});

test('policy check shows what a change would flag, and what it would no longer', async () => {
  const project = await pulledProject();
  const { folder, tidemark } = project;
  const check = async () => {
    const { exit, stdout } = await tidemark(['policy', 'check', '--json']);
    const { added, ended, unused, gaps } = JSON.parse(stdout);
    const count = (rows: { rule: string }[]) => rows.filter(({ rule }) => rule === 'below-minimum-version').length;
    return { exit, added: count(added), ended: count(ended), unused, gaps };
  };
  const below = async (minimum: string) => {
    const [row] = await project.rows(
      `select count(*) as low from workspaces where semver_key(workspace_iac_version) < semver_key('${minimum}')`,
    );
    return Number(row?.low);
  };
  const [few, many] = [await below('1.10.0'), await below('1.12.0')];
  expect([few > 0, many > few]).toEqual([true, true]);

  await writePolicy(
    folder,
    'tools: { terraform: { minimum: 1.12.0 } }\nproviders: { example.com/a/b: { minimum: 1.0.0 } }',
  );
  expect(await check()).toEqual({ exit: 5, added: many, ended: 0, unused: ['provider example.com/a/b'], gaps: [] });
  const { stdout } = await tidemark(['policy', 'check']);
  expect(stdout).toMatch(
    /^policy\/versions\.yaml is valid: 2 statements\nnothing in use is provider example\.com\/a\/b\n/u,
  );
  expect(stdout).toContain('below the minimum 1.12.0');

  await project.pull(['--source', 'workspaces']);
  expect(await check()).toMatchObject({ exit: 0, added: 0, ended: 0 });
  const [policy] = await project.rows('select name, versions from version_policy');
  expect(policy).toEqual({ name: 'terraform', versions: '1.12.0' });

  await writePolicy(folder, 'tools: { terraform: { minimum: 1.10.0 } }');
  expect(await check()).toMatchObject({ exit: 0, added: 0, ended: many - few });

  const { stdout: past } = await tidemark([
    'sql',
    '--as-of',
    'now',
    '--json',
    "select count(*) as low from versions_in_use where verdict = 'below minimum'",
  ]);
  expect(JSON.parse(past)[0].low).toBeGreaterThan(0);
});

test('policy check exits with 1 where a source could not be read', async () => {
  let down = false;
  const project = await testProject({
    workspaces: 5,
    faultHook: ({ path }, { error, kind }) =>
      down && kind === 'platform' && path.includes('/explorer') ? error(403, 'no') : undefined,
  });
  await project.pull(['--target', 'acme']);
  down = true;
  await project.pull(['--target', 'acme'], 1);
  await writePolicy(project.folder, 'tools: { terraform: { minimum: 0.0.1 } }');
  const { exit, stderr } = await project.tidemark(['policy', 'check']);
  expect(stderr).toContain('acme: workspaces is failed: more may be flagged');
  expect(exit).toBe(1);
});

test('policy check on a warehouse that was written before there were policies', async () => {
  const project = await pulledProject();
  await writePolicy(project.folder, 'products: { vault: { minimum: 1.9.0 } }');
  await changePublished(project.folder, (database) => database.run('drop macro table versions_in_use_at'));
  expect(await project.tidemark(['policy', 'check'])).toMatchObject({
    exit: 0,
    stdout: expect.stringContaining('can be compared after the next pull'),
  });
});
