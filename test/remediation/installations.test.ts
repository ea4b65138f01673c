import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { listWrites, type PlaybookHarness, playbookHarness } from '../helpers/playbook-harness.ts';
import { findTarget } from '../helpers/test-project.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { toLegacyText } from './test-plans.ts';

/** A plan acts on the installation that it was made for, and on no other one that has the same names. */

async function approvedPlan(options: Parameters<typeof playbookHarness>[0]) {
  const place = await playbookHarness({ updatesTable: false, ...options });
  const plan = await place.plan(['--max-percent', '100']);
  await place.approve();
  place.sandbox.log.length = 0;
  return { place, plan };
}

const edit = (place: PlaybookHarness, target: string, change: Record<string, unknown>) =>
  place.configure((config) => {
    Object.assign(findTarget(config, target), change);
  });

test('a second server with the same names gets nothing, from apply or undo, and settles nothing', async () => {
  const { place, plan } = await approvedPlan({ playbook: 'retire-old-key-versions' });
  const other = await startTestSandbox({ workspaces: 5 });
  try {
    const { url } = findTarget(parse(other.config()), 'vault');
    const first = findTarget(parse(place.sandbox.config()), 'vault').url;
    await edit(place, 'vault', { url });
    const problem = `plan ${plan.plan_id} was made for another installation of target vault: its url was ${String(first)}/v1 and is ${String(url)}/v1`;
    expect((await place.apply([], 6)).stderr).toContain(problem);
    expect([other.log, place.sandbox.log]).toEqual([[], []]);

    await edit(place, 'vault', { url: first });
    await place.apply();
    const written = listWrites(place.sandbox.log).length;
    await edit(place, 'vault', { url });
    const undone = await place.tidemark(['playbook', 'undo', plan.plan_id]);
    expect([undone.exit, undone.stderr]).toEqual([6, expect.stringContaining(problem)]);

    // What was left open is not read at another server, where it would be confirmed or denied.
    const ledger = join(place.folder, 'data', 'ledger.ndjson');
    const [intent] = (await readFile(ledger, 'utf8')).split('\n');
    await writeFile(ledger, `${intent}\n`);
    const settled = await place.tidemark(['playbook', 'ledger', '--settle']);
    expect([settled.exit, settled.stderr]).toEqual([1, expect.stringContaining(problem)]);
    expect([other.log, listWrites(place.sandbox.log).length]).toEqual([[], written]);
  } finally {
    await other.close();
  }
});

test.each([
  ['rotate-old-keys', 'vault', { mounts: { keymgmt: 'other' } }, 'its mounts was'],
  ['rotate-old-keys', 'vault', { namespace: 'team-a' }, 'its namespace was not known and is team-a'],
  ['reap-dead-agents', 'acme', { organization: 'acme-2' }, 'its organization was acme and is acme-2'],
])('%s: a plan is refused where the configuration of %s has %o', async (playbook, target, change, problem) => {
  const { place } = await approvedPlan({ playbook });
  await edit(place, target, change);
  expect((await place.apply([], 6)).stderr).toContain(problem);
  expect(place.sandbox.log).toEqual([]);
});

describe('behind the same address', () => {
  const CASES = [
    ['rotate-old-keys', '/v1/sys/health', 'cluster_id', { cluster_id: 'other', cluster_name: 'vault-cluster-1' }],
    [
      'reap-dead-agents',
      '/api/v2/organizations/acme',
      'organization_id',
      { data: { attributes: { 'external-id': 'org-other' } } },
    ],
    ['trim-anonymous-policy', '/v1/agent/self', 'region', { config: { Region: 'eu' } }],
  ] as const;
  const FIRST = { '/v1/agent/self': { config: { Region: 'us' }, member: { Name: 'server-1.us' } } };

  test.each(CASES)('%s: another service is recognized by what %s says', async (playbook, path, field, said) => {
    let answer: { status: number; body: string } | undefined;
    const first = (FIRST as Record<string, unknown>)[path];
    const { place, plan } = await approvedPlan({
      playbook,
      flavor: 'hashicorp',
      faultHook: ({ path: asked }) => {
        if (asked !== path) return undefined;
        return answer ?? (first === undefined ? undefined : { status: 200, body: JSON.stringify(first) });
      },
    });
    expect(plan.targets).toMatchObject([{ identity: { [field]: expect.any(String) } }]);
    const refusal = async (status: number, body: unknown, exit: number) => {
      answer = { status, body: typeof body === 'string' ? body : JSON.stringify(body) };
      const { stderr } = await place.apply([], exit);
      expect(listWrites(place.sandbox.log)).toEqual([]);
      return stderr;
    };
    expect(await refusal(200, said, 6)).toContain(`its ${field} was ${plan.targets?.[0]?.identity?.[field]} and is `);
    for (const status of [403, 404]) expect(await refusal(status, '<html>', 6)).toContain('and is not known');
    expect(await refusal(200, { data: {} }, 6)).toContain('and is not known');
    expect(await refusal(503, 'down', 3)).not.toContain('another installation');

    answer = undefined;
    await place.apply();
    expect(listWrites(place.sandbox.log)).not.toEqual([]);
  });

  test('one that takes its place between two actions gets none of them', async () => {
    let written = 0;
    const { place } = await approvedPlan({
      playbook: 'rotate-old-keys',
      flavor: 'hashicorp',
      faultHook: ({ method, path }) => {
        if (method === 'POST') written++;
        return path === '/v1/sys/health' && written > 0
          ? { status: 200, body: JSON.stringify({ cluster_id: 'other', cluster_name: 'vault-cluster-1' }) }
          : undefined;
      },
    });
    const { rows, stopped } = (await place.apply([], 6)).json<{ rows: unknown[]; stopped: { reason: string } }>();
    expect([rows.length, stopped.reason]).toEqual([1, expect.stringContaining('its cluster_id was ')]);
    expect(written).toBe(1);
  });

  test.each([
    [429, 'failed'],
    [504, 'unconfirmed'],
  ])(
    'one that takes its place after an answer of %i is not what the action is sent to again, or read from',
    async (status, outcome) => {
      let written = 0;
      const { place } = await approvedPlan({
        playbook: 'retire-old-key-versions',
        flavor: 'hashicorp',
        faultHook: ({ method, path }) => {
          if (method === 'POST') {
            written++;
            return { status, headers: { 'retry-after': '0' }, body: '{"errors": ["later"]}' };
          }
          if (path !== '/v1/sys/health' || written === 0) return undefined;
          return { status: 200, body: JSON.stringify({ cluster_id: 'other', cluster_name: 'vault-cluster-1' }) };
        },
      });
      const { rows } = (await place.apply([], 6)).json<{ rows: unknown[] }>();
      expect(rows).toMatchObject([{ status: outcome, reason: expect.stringContaining('its cluster_id was ') }]);
      expect(written).toBe(1);
    },
  );

  test('one that takes its place while an undo is planned is not what that is applied to', async () => {
    let [isPlanned, isOther] = [false, false];
    const { place, plan } = await approvedPlan({
      playbook: 'retire-old-key-versions',
      flavor: 'hashicorp',
      faultHook: ({ path }) => {
        isOther ||= isPlanned && path.includes('/keymgmt/key/');
        return path === '/v1/sys/health' && isOther
          ? { status: 200, body: JSON.stringify({ cluster_id: 'other', cluster_name: 'vault-cluster-1' }) }
          : undefined;
      },
    });
    await place.apply();
    place.sandbox.log.length = 0;
    isPlanned = true;
    const undo = await place.tidemark(['playbook', 'undo', plan.plan_id, '-o', place.planFile]);
    expect([undo.exit, isOther]).toEqual([0, true]);
    await place.approve();
    expect((await place.apply([], 6)).stderr).toContain('its cluster_id was ');
    expect(listWrites(place.sandbox.log)).toEqual([]);
  });

  test('all are asked before the first action, and before each later one the service that it goes to', async () => {
    const { place, plan } = await approvedPlan({
      playbook: 'rotate-old-keys',
      flavor: 'hashicorp',
      configure: ({ targets }) => {
        const first = targets.find(({ name }) => name === 'vault')!;
        targets.push({ ...first, name: 'other', url: String(first.url).replace('127.0.0.1', 'localhost') });
      },
    });
    // Both names are of one service, so that every second key is found rotated.
    await place.apply([], 1);
    const toHost = (target: string) => (target === 'vault' ? '127.0.0.1' : 'localhost');
    const asked = place.sandbox.log.filter(({ path }) => path === '/v1/sys/health');
    const [, ...later] = plan.actions.map(({ target }) => toHost(target));
    expect(new Set(later).size).toBe(2);
    expect(asked.map(({ headers }) => String(headers.host).split(':')[0])).toEqual([
      ...['vault', 'other'].map(toHost),
      ...later,
    ]);
  });

  test('a service that does not say what it is makes no claim', async () => {
    const { place, plan } = await approvedPlan({
      playbook: 'trim-anonymous-policy',
      flavor: 'hashicorp',
      faultHook: ({ path }) => (path === '/v1/agent/self' ? { status: 404, body: '' } : undefined),
    });
    expect(plan.targets).toMatchObject([{ name: 'nomad', identity: null }]);
    await place.apply();
  });
});

test('a plan of version 0.1 is shown, and neither approved, applied nor undone', async () => {
  const { place } = await approvedPlan({ playbook: 'retire-old-key-versions' });
  await writeFile(place.planFile, toLegacyText(JSON.parse(await readFile(place.planFile, 'utf8'))));
  const run = async (...words: string[]) => {
    const { exit, stdout, stderr } = await place.tidemark(['playbook', ...words]);
    return [exit, stdout + stderr];
  };
  expect(await run('show', place.planFile)).toEqual([0, expect.stringContaining('approved by the operator at')]);
  const refused = [6, expect.stringMatching(/does not say which installation it was made for\n.*plan again/u)];
  expect(await run('approve', place.planFile, '--by', 'the operator')).toEqual(refused);
  expect(await run('apply', place.planFile)).toEqual(refused);
  expect(await run('undo', place.planFile)).toEqual(refused);
  expect(listWrites(place.sandbox.log)).toEqual([]);
});
