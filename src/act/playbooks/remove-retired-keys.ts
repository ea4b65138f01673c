import { z } from 'zod';
import { defineAction, definePlaybook, drifted, ready, satisfied, unknown } from '../define.ts';
import { booleanAt, listAt, responseBody } from './lib/json-path.ts';
import { distributionAbsence, readKey } from './lib/reads.ts';

const removeInputs = z.object({ key_name: z.string(), provider_name: z.string() });
const deleteInputs = z.object({ key_name: z.string() });

const removeFromProvider = defineAction(removeInputs, {
  operation: 'secrets.kms-keys.remove',
  params: { name: 'provider_name', key_name: 'key_name' },
  reads: {
    key: readKey,
    distribution: {
      operation: 'secrets.kms-keys.read',
      params: { name: 'provider_name', key_name: 'key_name' },
      absence: distributionAbsence,
    },
  },
  observe: ({ key, distribution }) => ({
    in_provider: distribution.found,
    deletion_allowed: booleanAt(responseBody(key), 'data', 'deletion_allowed'),
  }),
  evaluate: ({ in_provider, deletion_allowed }) => {
    if (!in_provider) return satisfied('the key is not in the provider');
    return deletion_allowed === true ? ready : drifted('the key may no longer be deleted');
  },
});

const deleteKey = defineAction(deleteInputs, {
  operation: 'secrets.keys.delete',
  params: { name: 'key_name' },
  reads: { key: readKey, providers: { operation: 'secrets.keys.providers', params: { name: 'key_name' } } },
  observe: ({ key, providers }) =>
    key.found
      ? {
          deletion_allowed: booleanAt(responseBody(key), 'data', 'deletion_allowed'),
          providers: listAt(responseBody(providers), 'data', 'keys')?.map(String) ?? null,
        }
      : null,
  evaluate: (observed) => {
    if (observed === null) return satisfied('the key is gone');
    if (observed.deletion_allowed !== true) return drifted('it may no longer be deleted');
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
    ...providers.map((provider) => ({
      action: removeFromProvider,
      inputs: { key_name, provider_name: provider },
      summary: `remove key ${key_name} from provider ${provider}`,
    })),
    { action: deleteKey, inputs: { key_name }, summary: `delete key ${key_name}` },
  ],
});
