import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cli } from '../helpers/cli.ts';
import { startServer } from '../helpers/http-service.ts';
import { startWithEmptyWarehouse } from '../helpers/prepared.ts';
import { tempFolder } from '../helpers/temp.ts';

const NOW = ['--now', '2026-11-20T02:15:00Z'];
const POLICY = { Name: 'ro', Description: '', Rules: 'node { policy = "read" }', CreateIndex: 1, ModifyIndex: 1 };

/** A scheduler that lists one policy, and not `anonymous`. A run and `findings --fail-on critical` of its rule. */
async function gate(target: string, unlisted: Readonly<Record<string, unknown>> = {}) {
  const server = await startServer((request, response) => {
    response.setHeader('content-type', 'application/json');
    const name = /^\/v1\/acl\/policy\/([^/?]+)/u.exec(request.url ?? '')?.[1];
    if (name === undefined) return void response.end(JSON.stringify([POLICY]));
    const policy = name === POLICY.Name ? POLICY : unlisted[name];
    if (policy === undefined) return void response.writeHead(404).end('ACL policy not found');
    response.end(JSON.stringify(policy));
  });
  onTestFinished(() => server.close());
  const folder = await tempFolder();
  await mkdir(join(folder, 'jobs'));
  await writeFile(join(folder, 'jobs/policies.yaml'), 'pull: [acl_policies]\nreports: []\n');
  await writeFile(
    join(folder, 'tidemark.yaml'),
    `targets:\n  - { name: nomad, kind: scheduler, url: "${server.origin}", token: a-client-token${target} }\n`,
  );
  await startWithEmptyWarehouse(join(folder, 'data'));
  const run = await cli(['run', 'policies', ...NOW], { cwd: folder });
  expect(run.exit, run.stderr).toBe(0);
  const listed = await cli(['findings', '--rule', 'anonymous-write', '--fail-on', 'critical', ...NOW], { cwd: folder });
  const report = await cli(['sql', 'select rule, reason from unassessed_rules', '--format', 'json', ...NOW], {
    cwd: folder,
  });
  return { ...listed, unassessed: JSON.parse(report.stdout) as unknown };
}

test('a list of policies without `anonymous` is no proof: the rule is unknown, and the gate is closed', async () => {
  const { exit, stderr, unassessed } = await gate('');
  const reason =
    'the policy anonymous is not listed: a token that is not a management token sees only its own policies, and nothing tells what the token is (declare it as `sees` of the target)';
  expect(unassessed).toEqual([{ rule: 'anonymous-write', reason }]);
  expect(stderr).toContain(`warning: nomad: not assessed since 2026-11-20: anonymous-write: ${reason}`);
  expect(stderr).toContain(`cannot tell whether other findings are critical: nomad: anonymous-write: ${reason}`);
  expect(exit).toBe(1);
});

test('the gate is open where the target declares that it sees all policies', async () => {
  expect(await gate(', sees: { acl_policies: all }')).toMatchObject({ exit: 0, stderr: '', unassessed: [] });
});

const ANONYMOUS = { ...POLICY, Name: 'anonymous' };

test('the product shows `anonymous` to a token that does not list it, so that the rule is assessed', async () => {
  const harmless = await gate(', flavor: hashicorp', { anonymous: ANONYMOUS });
  expect(harmless).toMatchObject({ exit: 0, stderr: '', unassessed: [] });
  const dangerous = await gate(', flavor: hashicorp', {
    anonymous: { ...ANONYMOUS, Rules: 'node { policy = "write" }' },
  });
  expect(dangerous.exit).toBe(5);
  const absent = await gate(', flavor: hashicorp');
  expect(absent).toMatchObject({ exit: 1, unassessed: [{ rule: 'anonymous-write' }] });
});
