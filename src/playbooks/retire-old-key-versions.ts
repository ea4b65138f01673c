import { z } from 'zod';
import { secrets } from '../services/secrets.ts';
import { bodyOf, booleanAt, numberAt } from './answers.ts';
import { playbook, skip } from './playbook.ts';
import { step } from './step.ts';
import { changed, done, due } from './verdict.ts';

const detail = z.object({
  key_name: z.string(),
  latest_version: z.number(),
  wanted_min_enabled_version: z.number(),
});
const facts = detail.extend({ deletion_allowed: z.boolean() });

const retire = step(facts, {
  operation: 'secrets.keys.update',
  params: { name: 'key_name' },
  // Both, since an update that leaves one out sets it to its default (secrets.md, "Update key").
  body: ({ wanted_min_enabled_version, deletion_allowed }) => ({
    min_enabled_version: wanted_min_enabled_version,
    deletion_allowed,
  }),
  reads: { key: { operation: 'secrets.keys.read', params: { name: 'key_name' } } },
  see: ({ key }) =>
    key.found
      ? {
          latest_version: numberAt(bodyOf(key), 'data', 'latest_version'),
          min_enabled_version: numberAt(bodyOf(key), 'data', 'min_enabled_version'),
          deletion_allowed: booleanAt(bodyOf(key), 'data', 'deletion_allowed'),
        }
      : null,
  judge: (seen, { latest_version, wanted_min_enabled_version, deletion_allowed }) => {
    if (seen === null) return changed('the key is gone');
    if (seen.deletion_allowed !== deletion_allowed) return changed('whether it may be deleted was changed');
    if (seen.latest_version !== latest_version) return changed(`its newest version is ${seen.latest_version}`);
    if (seen.min_enabled_version === null) return changed('its lowest enabled version is not told');
    return seen.min_enabled_version < wanted_min_enabled_version
      ? due
      : done(`its versions below ${seen.min_enabled_version} are disabled`);
  },
});

export const retireOldKeyVersions = playbook({
  name: 'retire-old-key-versions',
  rule: 'old-key-version-enabled',
  about: 'disable all but the newest versions of a key',
  table: 'keys',
  steps: [retire],
  detail,
  plan: async (finding, desk) => {
    const { key_name, wanted_min_enabled_version: wanted, latest_version: latest } = finding.detail;
    const key = await desk.ask(secrets.keys.read, { name: key_name });
    const deletionAllowed = booleanAt(bodyOf(key), 'data', 'deletion_allowed');
    if (deletionAllowed === null) return skip('the service does not tell whether the key may be deleted');
    const summary = `disable versions of key ${key_name} below ${wanted}: ${wanted} to ${latest} stay enabled`;
    return [{ step: retire, facts: { ...finding.detail, deletion_allowed: deletionAllowed }, summary }];
  },
});
