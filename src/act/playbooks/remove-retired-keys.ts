import { z } from 'zod';
import { listAt } from '../../core/json-path.ts';
import { defineAction, definePlaybook, drifted, ready, satisfied, unknown } from '../define.ts';
import { read, responseBody } from './lib/reads.ts';
import { parseKey, readDistribution, readKey } from './lib/secrets.ts';

const NOT_TOLD = 'whether the key may be deleted is not reported';

const removeFromProvider = defineAction(z.object({ key_name: z.string(), provider_name: z.string() }), {
  operation: 'secrets.kms-keys.remove',
  params: { name: 'provider_name', key_name: 'key_name' },
  reads: { key: readKey, distribution: readDistribution },
  observe: ({ key, distribution }) => ({
    in_provider: distribution.found,
    deletion_allowed: parseKey(key).deletion_allowed,
  }),
  evaluate: ({ in_provider, deletion_allowed }) => {
    if (!in_provider) return satisfied('the key is not in the provider');
    if (deletion_allowed === null) return unknown(NOT_TOLD);
    return deletion_allowed ? ready : drifted('the key may no longer be deleted');
  },
});

const deleteKey = defineAction(z.object({ key_name: z.string() }), {
  operation: 'secrets.keys.delete',
  params: { name: 'key_name' },
  reads: { key: readKey, providers: read('secrets.keys.providers', { name: 'key_name' }) },
  observe: ({ key, providers }) => {
    const names = listAt(responseBody(providers), 'data', 'keys')?.map(String) ?? null;
    return key.found ? { deletion_allowed: parseKey(key).deletion_allowed, providers: names } : null;
  },
  evaluate: (observed) => {
    if (observed === null) return satisfied('the key is gone');
    if (observed.deletion_allowed === null) return unknown(NOT_TOLD);
    if (!observed.deletion_allowed) return drifted('it may no longer be deleted');
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
  plan: ({ detail: { key_name, providers } }) => [
    ...providers.map((providerName) => ({
      action: removeFromProvider,
      inputs: { key_name, provider_name: providerName },
      summary: `remove key ${key_name} from provider ${providerName}`,
    })),
    { action: deleteKey, inputs: { key_name }, summary: `delete key ${key_name}` },
  ],
});
