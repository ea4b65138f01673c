import { expect, test } from 'vitest';
import { listWrites, playbookHarness } from '../helpers/playbook-harness.ts';

/** A list that answers 404 just before the action, or is not supported, is unknown, and so is a subject: the action stays pending. */
const cases = [
  ['remove-empty-pools', /\/agents$/u, 404, 'platform.agents.list answers "not found", which proves nothing'],
  [
    'remove-retired-keys',
    /\/key\/[^/]+\/kms$/u,
    404,
    'secrets.keys.providers answers "not found", which proves nothing',
  ],
  ['pin-drift-view', /\/explorer\/views$/u, 404, 'platform.views.list answers "not found", which proves nothing'],
  [
    'adopt-orphaned-volumes',
    /\/v1\/volumes$/u,
    404,
    'scheduler.volumes.list answers "not found", which proves nothing',
  ],
  ['drop-stale-snapshots', /\/v1\/volumes$/u, 404, 'scheduler.volumes.list answers "not found", which proves nothing'],
  ['snapshot-unprotected-volumes', /\/volumes\/snapshot$/u, 500, 'its snapshots are not reported'],
  ['deregister-missing-volumes', /\/volume\/csi\/[^/]+$/u, 500, 'the subject could not be read'],
  ['remove-retired-keys', /\/kms\/[^/]+\/key\/[^/]+$/u, 501, 'the subject could not be read'],
] as const;

test.each(cases)(
  '%s leaves the action pending when a list is refused (%s, %i): %s',
  async (playbook, refused, status, reason) => {
    let isRefused = false;
    const place = await playbookHarness({
      updatesTable: false,
      playbook,
      sources: ['saved_views', 'external_volumes'],
      faultHook: ({ method, path }) =>
        isRefused && (method === 'GET' || method === 'LIST') && refused.test(path)
          ? { status, body: '{"errors":["it does not support that"]}' }
          : undefined,
    });
    await place.plan(['--max-percent', '100']);
    await place.approve();
    isRefused = true;
    const { stdout } = await place.tidemark(['playbook', 'apply', place.planFile, '--json']);
    const { rows } = JSON.parse(stdout) as { rows: { status: string; reason: string | null; operation: string }[] };
    const left = rows.filter((row) => row.reason !== null && new RegExp(reason).test(row.reason));
    expect(left.length, stdout).toBeGreaterThan(0);
    expect(new Set(left.map((row) => row.status))).toEqual(new Set(['failed']));
    expect(listWrites(place.sandbox.log)).toHaveLength(rows.filter((row) => row.status === 'applied').length);
  },
);
