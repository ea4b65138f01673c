import { mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { share } from '../helpers/temp.ts';
import { findTarget, type TestProject, testProject } from '../helpers/test-project.ts';
import { POLICIES, pullAt, pullOnce, scheduler } from './pull-again.ts';

test('a lower index of the list alone makes everything be read', async () => {
  const place = await pullOnce({ flavor: 'hashicorp' }, POLICIES);
  place.sandbox.services.scheduler.state.policies.delete('anonymous');
  const { reused } = await pullAt(place, '02T02:15:00', POLICIES);
  expect(reused.acl_policies).toBe(scheduler(place).policies.size);
});

test('a service that changes an object without its index is noticed within `fullReadDays`', async () => {
  const place = await pullOnce({}, POLICIES);
  Object.assign(scheduler(place).policies.get('anonymous')!, { rules: 'agent { policy = "read" }' });
  const rules = async () => (await place.rows(`select rules from acl_policies where name = 'anonymous'`))[0]?.rules;
  const before = await rules();
  for (const day of [2, 4, 7]) {
    expect((await pullAt(place, `0${day}T02:15:00`, POLICIES)).reads).toEqual([]);
    expect(await rules()).toBe(before);
  }
  // A second earlier than a week ago, as a scheduler may start it.
  const { reused, stderr } = await pullAt(place, '08T02:14:59', POLICIES);
  expect(reused).toEqual({ acl_policies: 0 });
  expect(stderr).toContain('nomad: acl_policies: every object is read: the last full read was on 2026-10-01');
  expect(await rules()).toBe('agent { policy = "read" }');
  expect((await pullAt(place, '09T02:15:00', POLICIES)).reads).toEqual([]);
});

describe('everything is read', () => {
  /** What takes the evidence away between the first and the second pull. */
  const CASES: readonly [string, (place: TestProject) => Promise<unknown> | unknown, (readonly string[])?][] = [
    ['with --fresh', () => {}, [...POLICIES, '--fresh']],
    ['with `fullReadDays: 0`', (place) => place.configure((config) => Object.assign(config, { fullReadDays: 0 }))],
    [
      'for another token',
      (place) => configureNomad(place, { token: place.sandbox.createToken('scheduler', { isManagement: true }) }),
    ],
    ['for another namespace', (place) => configureNomad(place, { namespace: 'default' })],
    ['without the landing of the last pull', (place) => rm(join(place.folder, 'data', 'landing'), { recursive: true })],
    ['if that landing was changed', changeLanding],
    ['if that landing is damaged', damageLanding],
    ['after a column was added', addColumn],
  ];
  const pulled = share((cleanup) => pullOnce({ cleanup }, POLICIES));
  test.each(CASES)('%s', async (_, prepare, words = POLICIES) => {
    const { folder: from, sandbox } = await pulled();
    const place = await testProject({ sandbox, from });
    await prepare(place);
    const { reads, reused } = await pullAt(place, '02T02:15:00', words);
    expect(reads).toHaveLength(scheduler(place).policies.size);
    expect(reused).toEqual({ acl_policies: 0 });
  });

  test('where another installation answers, whose objects look the same in its list', async () => {
    let region = 'global';
    const headers = { 'content-type': 'application/json' };
    const place = await pullOnce(
      {
        flavor: 'hashicorp',
        faultHook: ({ path }) =>
          path === '/v1/agent/self'
            ? { status: 200, headers, body: JSON.stringify({ config: { Region: region } }) }
            : undefined,
      },
      POLICIES,
    );
    region = 'elsewhere';
    Object.assign(scheduler(place).policies.get('anonymous')!, { description: 'other' });
    const { reads, stderr } = await pullAt(place, '02T02:15:00', POLICIES, 1);
    expect(reads).toHaveLength(scheduler(place).policies.size);
    expect(stderr).toMatch(/another installation answers: region is elsewhere, and was global/u);
  });

  test('if the list has no index', async () => {
    const place = await pullOnce({}, POLICIES);
    for (const policy of scheduler(place).policies.values()) Object.assign(policy, { modifyIndex: undefined });
    const { reads, reused } = await pullAt(place, '02T02:15:00', POLICIES);
    expect(reads).toHaveLength(scheduler(place).policies.size);
    expect(reused).toEqual({ acl_policies: 0 });
  });

  test('after a pull that was not complete, and again when it is', async () => {
    let isBroken = false;
    const place = await testProject({
      workspaces: 5,
      faultHook: ({ path }, service) =>
        isBroken && path === '/v1/acl/policies' ? service.error(403, 'no') : undefined,
    });
    await pullAt(place, '01T02:15:00', POLICIES);
    isBroken = true;
    await pullAt(place, '02T02:15:00', POLICIES, 3);
    isBroken = false;
    expect((await pullAt(place, '03T02:15:00', POLICIES)).reused).toEqual({ acl_policies: 0 });
    expect((await pullAt(place, '04T02:15:00', POLICIES)).reads).toEqual([]);
  });
});

function configureNomad(place: TestProject, changes: Readonly<Record<string, unknown>>) {
  return place.configure((config) => Object.assign(findTarget(config, 'nomad'), changes));
}

async function findPolicies({ folder }: TestProject): Promise<string> {
  const landing = join(folder, 'data', 'landing');
  const [run] = await readdir(landing);
  return join(landing, run!, 'nomad', 'acl_policies.ndjson.gz');
}

async function changeLanding(place: TestProject) {
  await writeFile(await findPolicies(place), gzipSync('{"name":"anonymous","body":{}}\n'));
}

async function damageLanding(place: TestProject) {
  await truncate(await findPolicies(place), 100);
}

async function addColumn({ folder }: TestProject) {
  await mkdir(join(folder, 'queries', 'tables'), { recursive: true });
  const ddl = await readFile(join('queries', 'tables', 'acl_policies.sql'), 'utf8');
  const added = ddl.replace('  description varchar,', '  hash varchar, -- hash\n  description varchar,');
  await writeFile(join(folder, 'queries', 'tables', 'acl_policies.sql'), added);
}
