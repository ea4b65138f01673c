import { readFile, writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { canonicalJson } from '../../src/core/canonical-json.ts';
import { type PlaybookHarnessOptions, playbookHarness } from '../helpers/playbook-harness.ts';

/** The digest of a plan does not depend on the order of keys, so what it does must not either. */

const JOB_ACL = { Namespace: 'default', JobID: 'web', Group: 'api' };

const CASES: Readonly<Record<string, Partial<PlaybookHarnessOptions>>> = {
  'drop-dead-views': {},
  'trim-anonymous-policy': {
    prepare: ({ scheduler }) => {
      for (const policy of scheduler.policies.values()) policy.jobAcl = JOB_ACL;
    },
  },
  'downgrade-management-roles': {},
  'scope-unused-pools': {},
};

test.each(Object.entries(CASES))('%s: a plan whose keys a tool has sorted is applied', async (playbook, options) => {
  const place = await playbookHarness({ updatesTable: false, playbook, ...options });
  const plan = await place.plan(['--max-percent', '100']);
  expect(plan.actions).not.toEqual([]);
  const sorted = canonicalJson(JSON.parse(await readFile(place.planFile, 'utf8')));
  await writeFile(place.planFile, sorted);
  await writeFile(`${place.folder}/data/plans/${plan.plan_id}.json`, sorted);
  await place.approve();
  await place.apply();
  expect((await place.ledger()).map(({ status, reason }) => [status, reason])).toEqual(
    plan.actions.map(() => ['applied', null]),
  );
});
