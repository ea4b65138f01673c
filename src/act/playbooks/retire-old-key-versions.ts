import { z } from 'zod';
import { secrets } from '../../services/secrets/operations.ts';
import { defineAction, definePlaybook, drifted, type ReadResults, ready, satisfied, skip, unknown } from '../define.ts';
import { explainOtherKey, parseKey, plannedKey, readKey } from './lib/secrets.ts';
import { restoreFields } from './lib/undo.ts';

const detail = z.object({ key_name: z.string(), latest_version: z.number(), wanted_min_enabled_version: z.number() });
/** As read when the plan was made. `min_enabled_version` is null where it was not reported. */
const inputs = detail.extend({
  ...plannedKey.shape,
  deletion_allowed: z.boolean(),
  min_enabled_version: z.number().nullable().optional(),
});

const update = {
  operation: 'secrets.keys.update',
  params: { name: 'key_name' },
  reads: { key: readKey },
  // `rotated_at` is there only where it shows another key: an undo compares the other fields with the ledger, which has no time.
  observe: ({ key }: ReadResults<'key'>, { rotated_at: planned = null }: { readonly rotated_at?: string | null }) => {
    if (!key.found) return null;
    const { rotated_at, ...state } = parseKey(key);
    return { ...state, ...(explainOtherKey(planned, rotated_at) && { rotated_at }) };
  },
};

const retire = defineAction(inputs, {
  ...update,
  // Both fields are sent: an update resets a field that is left out to its default (docs/services/secrets.md#keys).
  body: ({ wanted_min_enabled_version: minEnabledVersion, deletion_allowed }) => ({
    min_enabled_version: minEnabledVersion,
    deletion_allowed,
  }),
  change: ({ min_enabled_version = null, wanted_min_enabled_version, deletion_allowed }) => ({
    before: { min_enabled_version, deletion_allowed },
    after: { min_enabled_version: wanted_min_enabled_version, deletion_allowed },
  }),
  evaluate: (observed, { latest_version, wanted_min_enabled_version, deletion_allowed, rotated_at }) => {
    if (observed === null) return drifted('the key is gone');
    const missing = Object.entries(observed).find(([, value]) => value === null);
    if (missing) return unknown(`its \`${missing[0]}\` is not reported`);
    if (observed.deletion_allowed !== deletion_allowed) return drifted('its `deletion_allowed` was changed');
    if (observed.latest_version !== latest_version) return drifted(`its newest version is ${observed.latest_version}`);
    const other = explainOtherKey(rotated_at, observed.rotated_at ?? rotated_at);
    if (other) return other;
    return (observed.min_enabled_version ?? 0) < wanted_min_enabled_version
      ? ready
      : satisfied(`its versions below ${observed.min_enabled_version} are disabled`);
  },
  undo: restoreFields(update, {
    names: plannedKey,
    subject: 'the key',
    fields: z.object({
      latest_version: z.number().nullable(),
      min_enabled_version: z.number(),
      deletion_allowed: z.boolean(),
    }),
    isLeft: (after: ReturnType<typeof update.observe>, planned: z.infer<typeof inputs>) =>
      after?.min_enabled_version === planned.wanted_min_enabled_version,
    body: ({ min_enabled_version, deletion_allowed }) => ({ min_enabled_version, deletion_allowed }),
    summary: ({ key_name }, { min_enabled_version }) =>
      `enable the versions of key ${key_name} from ${min_enabled_version} on again`,
  }),
});

export const retireOldKeyVersions = definePlaybook({
  name: 'retire-old-key-versions',
  rule: 'old-key-version-enabled',
  description: 'disable all but the newest `keyVersionsKept` versions of a key',
  table: 'keys',
  actions: [retire],
  detail,
  plan: async ({ detail: planned }, ctx) => {
    const { key_name, wanted_min_enabled_version: wanted, latest_version: latest } = planned;
    const { latest_version: _, ...now } = parseKey(await ctx.read(secrets.keys.read, { name: key_name }));
    if (now.deletion_allowed === null) return skip('the service does not report whether the key may be deleted');
    const summary = `disable versions of key ${key_name} below ${wanted}; versions ${wanted} to ${latest} stay enabled`;
    return [{ action: retire, inputs: { ...planned, ...now }, summary }];
  },
});
