import { z } from 'zod';
import { listAt } from '../../core/json-path.ts';
import { plural } from '../../core/plural.ts';
import { defineAction, definePlaybook, drifted, ready, satisfied, unknown } from '../define.ts';
import { readSubject, responseBody } from './lib/reads.ts';

const inputs = z.object({ provider_name: z.string() });

const remove = defineAction(inputs, {
  operation: 'secrets.kms.delete',
  params: { name: 'provider_name' },
  reads: {
    provider: readSubject('secrets.kms.read', { name: 'provider_name' }, 'kms_providers.name'),
    keys: { operation: 'secrets.kms-keys.list', params: { name: 'provider_name' } },
  },
  observe: ({ provider, keys }) =>
    provider.found ? { keys: listAt(responseBody(keys), 'data', 'keys')?.length ?? null } : null,
  evaluate: (observed) => {
    if (observed === null) return satisfied('the provider is gone');
    if (observed.keys === null) return unknown('its keys are not reported');
    return observed.keys > 0 ? drifted(`it has ${plural(observed.keys, 'key')}`) : ready;
  },
});

export const removeEmptyProviders = definePlaybook({
  name: 'remove-empty-providers',
  rule: 'empty-kms-provider',
  description: 'delete KMS providers that have no key',
  table: 'kms_providers',
  detail: inputs,
  action: remove,
  summary: ({ detail }) => `delete KMS provider ${detail.provider_name}`,
});
