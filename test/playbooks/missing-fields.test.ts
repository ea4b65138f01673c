import { expect, test } from 'vitest';
import { listWrites, playbookHarness } from '../helpers/playbook-harness.ts';

/** A listing that is refused just before the deed says nothing about what it would hold: it is not an empty one. */
const cases = [
  ['remove-empty-pools', /\/agents$/u, 404, 'its agents are not told'],
  ['remove-retired-keys', /\/key\/[^/]+\/kms$/u, 404, 'who holds it is not told'],
  ['pin-drift-view', /\/explorer\/views$/u, 404, 'the saved views are not told'],
  ['adopt-orphaned-volumes', /\/v1\/volumes$/u, 404, 'what is registered is not told'],
  ['drop-stale-snapshots', /\/v1\/volumes$/u, 404, 'its volume is there, or that is not told'],
  ['snapshot-unprotected-volumes', /\/volumes\/snapshot$/u, 500, 'its snapshots are not told'],
] as const;

test.each(cases)(
  '%s leaves what a refused listing (%s, %i) does not tell: %s',
  async (playbook, refused, status, reason) => {
    let isRefused = false;
    const place = await playbookHarness({
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
    const left = rows.filter((row) => row.reason === reason);
    expect(left.length, stdout).toBeGreaterThan(0);
    expect(new Set(left.map((row) => row.status))).toEqual(new Set(['skipped']));
    expect(listWrites(place.sandbox.log)).toHaveLength(rows.filter((row) => row.status === 'applied').length);
  },
);
