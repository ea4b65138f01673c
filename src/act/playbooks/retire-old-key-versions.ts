import { z } from 'zod';
import { secrets } from '../../services/secrets/operations.ts';
import {
  defineAction,
  definePlaybook,
  drifted,
  type ReadResult,
  type ReadResults,
  ready,
  satisfied,
  skip,
  unknown,
} from '../define.ts';
import { booleanAt, numberAt, responseBody } from './lib/json-path.ts';
import { readKey } from './lib/reads.ts';
import { restoreFields } from './lib/undo.ts';

const detail = z.object({
  key_name: z.string(),
  latest_version: z.number(),
  wanted_min_enabled_version: z.number(),
});
const inputs = detail.extend({
  deletion_allowed: z.boolean(),
  /** Null where it was not reported when the plan was made. */
  min_enabled_version: z.number().nullable().optional(),
});

const parseKey = (key: ReadResult) =>
  key.found
    ? {
        latest_version: numberAt(responseBody(key), 'data', 'latest_version'),
        min_enabled_version: numberAt(responseBody(key), 'data', 'min_enabled_version'),
        deletion_allowed: booleanAt(responseBody(key), 'data', 'deletion_allowed'),
      }
    : null;

const update = {
  operation: 'secrets.keys.update',
  params: { name: 'key_name' },
  reads: { key: readKey },
  observe: ({ key }: ReadResults<'key'>) => parseKey(key),
};

const retire = defineAction(inputs, {
  ...update,
  // Both fields are sent: an update resets a field that is left out to its default (docs/services/secrets.md#keys).
  body: ({ wanted_min_enabled_version, deletion_allowed }) => ({
    min_enabled_version: wanted_min_enabled_version,
    deletion_allowed,
  }),
  change: ({ min_enabled_version = null, wanted_min_enabled_version, deletion_allowed }) => ({
    before: { min_enabled_version, deletion_allowed },
    after: { min_enabled_version: wanted_min_enabled_version, deletion_allowed },
  }),
  evaluate: (observed, { latest_version, wanted_min_enabled_version, deletion_allowed }) => {
    if (observed === null) return drifted('the key is gone');
    if (observed.deletion_allowed !== deletion_allowed) return drifted('its `deletion_allowed` was changed');
    if (observed.latest_version !== latest_version) return drifted(`its newest version is ${observed.latest_version}`);
    if (observed.min_enabled_version === null) return unknown('its lowest enabled version is not reported');
    return observed.min_enabled_version < wanted_min_enabled_version
      ? ready
      : satisfied(`its versions below ${observed.min_enabled_version} are disabled`);
  },
  undo: restoreFields(update, {
    input: 'key_name',
    subject: 'the key',
    fields: z.object({
      latest_version: z.number().nullable(),
      min_enabled_version: z.number(),
      deletion_allowed: z.boolean(),
    }),
    body: ({ min_enabled_version, deletion_allowed }) => ({ min_enabled_version, deletion_allowed }),
    summary: ({ inputs: { key_name }, before }) =>
      `enable the versions of key ${key_name} from ${before?.min_enabled_version} on again`,
  }),
});

export const retireOldKeyVersions = definePlaybook({
  name: 'retire-old-key-versions',
  rule: 'old-key-version-enabled',
  description: 'disable all but the newest `keyVersionsKept` versions of a key',
  table: 'keys',
  actions: [retire],
  detail,
  plan: async (finding, ctx) => {
    const { key_name, wanted_min_enabled_version: wanted, latest_version: latest } = finding.detail;
    const key = await ctx.read(secrets.keys.read, { name: key_name });
    const deletionAllowed = booleanAt(responseBody(key), 'data', 'deletion_allowed');
    if (deletionAllowed === null) return skip('the service does not report whether the key may be deleted');
    const summary = `disable versions of key ${key_name} below ${wanted}; versions ${wanted} to ${latest} stay enabled`;
    const inputs = {
      ...finding.detail,
      deletion_allowed: deletionAllowed,
      min_enabled_version: numberAt(responseBody(key), 'data', 'min_enabled_version'),
    };
    return [{ action: retire, inputs, summary }];
  },
});
