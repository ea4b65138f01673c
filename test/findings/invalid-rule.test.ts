import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findTarget, testProject } from '../helpers/test-project.ts';
import { writeJob } from '../mail/mail-project.ts';

const PROBLEM = 'queries/findings/own.sql: the header line `-- rule: …` is missing';

test('an invalid rule hides no finding of the others, and is never taken for clean', async () => {
  const place = await testProject({ workspaces: 2 });
  await writeJob(place, { pull: 'all', reports: [] });
  await place.configure((config) => {
    config.targets = [findTarget(config, 'vault')];
    config.subjectPages = 0;
  });
  const folder = join(place.folder, 'queries/findings');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'own.sql'), '-- severity: info\n-- sources: keys\nselect 1');
  const run = await place.tidemark(['run', 'nightly']);
  expect([run.exit, run.stderr]).toEqual([1, expect.stringContaining(`rule own was not assessed: ${PROBLEM}`)]);

  expect(run.stdout).toMatch(/^run \S+: incomplete, (\d+) of \1 sources complete; failed: rule own\n/u);

  const all = await place.tidemark(['findings']);
  expect([all.exit, all.stdout]).toEqual([0, expect.stringContaining('management-role')]);
  expect(all.stderr).toContain(`warning: rule own cannot be assessed: ${PROBLEM}`);
  const other = await place.tidemark(['findings', '--rule', 'dead-agent', '--fail-on', 'info']);
  expect(other.stderr).not.toContain('own.sql');
  const gate = await place.tidemark(['findings', '--fail-on', 'critical', '--state', 'new']);
  expect([gate.exit, gate.stderr]).toEqual([
    1,
    expect.stringContaining(`cannot tell whether other findings are critical: ${PROBLEM}`),
  ]);
  const own = await place.tidemark(['findings', '--rule', 'own']);
  expect([own.exit, own.stderr]).toEqual([4, expect.stringContaining(PROBLEM)]);

  const plan = await place.tidemark(['playbook', 'plan', 'downgrade-management-roles']);
  expect(plan.exit).toBe(0);
  await mkdir(join(place.folder, 'policy'));
  await writeFile(join(place.folder, 'policy/versions.yaml'), 'products: { vault: { minimum: 1.0.0 } }\n');
  const policy = await place.tidemark(['policy', 'check']);
  expect([policy.exit, policy.stderr]).toEqual([1, expect.stringContaining(`${PROBLEM}: more may be flagged`)]);
});

test('a rule that names a source that nothing pulls is not assessed, and says so', async () => {
  const place = await testProject({ workspaces: 2 });
  await writeJob(place, { pull: ['keys'], reports: [] });
  const folder = join(place.folder, 'queries/findings');
  await mkdir(folder, { recursive: true });
  const header = '-- rule: A workspace.\n-- severity: info\n-- subject: workspace\n-- sources: workspace\n';
  await writeFile(
    join(folder, 'own.sql'),
    `${header}select target, external_id as subject_id, '' as title from workspaces`,
  );
  const run = await place.tidemark(['run', 'nightly']);
  const problem = 'line `-- sources: …` names workspace, which fills no table: did you mean workspaces?';
  expect([run.exit, run.stderr]).toEqual([1, expect.stringContaining(problem)]);
});
