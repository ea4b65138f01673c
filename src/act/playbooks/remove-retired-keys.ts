import { z } from 'zod';
import { listAt } from '../../core/json-path.ts';
import { secrets } from '../../services/secrets/operations.ts';
import { defineAction, definePlaybook, drifted, type ReadResult, ready, satisfied, unknown } from '../define.ts';
import { readSubject, responseBody } from './lib/reads.ts';
import { explainOtherKey, parseKey, plannedKey, readKey } from './lib/secrets.ts';

const observeKey = (key: ReadResult) => {
  const { deletion_allowed, rotated_at } = parseKey(key);
  return { deletion_allowed, rotated_at };
};

/** Why a key may not be removed; undefined where it may. */
function explainKey(
  { deletion_allowed, rotated_at }: ReturnType<typeof observeKey>,
  planned: z.infer<typeof plannedKey>,
) {
  if (deletion_allowed === null) return unknown('whether the key may be deleted is not reported');
  if (!deletion_allowed) return drifted('the key may no longer be deleted');
  return explainOtherKey(planned.rotated_at, rotated_at);
}

const KEY_OF_PROVIDER = { name: 'provider_name', key_name: 'key_name' };

const removeFromProvider = defineAction(plannedKey.extend({ provider_name: z.string() }), {
  operation: 'secrets.kms-keys.remove',
  params: KEY_OF_PROVIDER,
  reads: {
    key: readKey,
    distribution: readSubject('secrets.kms-keys.read', KEY_OF_PROVIDER, 'key_distributions.key_name', {
      of: { name: 'provider_name' },
    }),
  },
  observe: ({ key, distribution }) => ({ in_provider: distribution.found, ...observeKey(key) }),
  evaluate: ({ in_provider, ...key }, planned) => {
    if (!in_provider) return satisfied('the key is not in the provider');
    return explainKey(key, planned) ?? ready;
  },
});

const deleteKey = defineAction(plannedKey, {
  operation: 'secrets.keys.delete',
  params: { name: 'key_name' },
  reads: { key: readKey, providers: { operation: 'secrets.keys.providers', params: { name: 'key_name' } } },
  observe: ({ key, providers }) => {
    const names = listAt(responseBody(providers), 'data', 'keys')?.map(String) ?? null;
    return key.found ? { ...observeKey(key), providers: names } : null;
  },
  evaluate: (observed, planned) => {
    if (observed === null) return satisfied('the key is gone');
    const problem = explainKey(observed, planned);
    if (problem) return problem;
    if (observed.providers === null) return unknown('its providers are not reported');
    return observed.providers.length > 0 ? drifted(`it is distributed to ${observed.providers.join(', ')}`) : ready;
  },
});

export const removeRetiredKeys = definePlaybook({
  name: 'remove-retired-keys',
  rule: 'retired-key',
  description: 'remove keys that may be deleted from their providers, then delete them',
  table: 'keys',
  actions: [removeFromProvider, deleteKey],
  detail: z.object({ key_name: z.string(), providers: z.array(z.string()) }),
  plan: async ({ detail: { key_name, providers } }, ctx) => {
    const { rotated_at } = parseKey(await ctx.read(secrets.keys.read, { name: key_name }));
    const key = { key_name, rotated_at };
    return [
      ...providers.map((providerName) => ({
        action: removeFromProvider,
        inputs: { ...key, provider_name: providerName },
        summary: `remove key ${key_name} from provider ${providerName}`,
      })),
      { action: deleteKey, inputs: key, summary: `delete key ${key_name}` },
    ];
  },
});
