import { z } from 'zod';
import { listAt, textAt } from '../../core/json-path.ts';
import { plural } from '../../core/plural.ts';
import { defineAction, definePlaybook, drifted, ready, satisfied, unknown } from '../define.ts';
import { readSubject, responseBody } from './lib/reads.ts';

/** What tells a provider from another one of its name: null where it was not reported, and in a plan of an earlier version. */
const told = z.string().nullable().default(null);
const inputs = z.object({ provider_name: z.string(), provider: told, key_collection: told });

const remove = defineAction(inputs, {
  operation: 'secrets.kms.delete',
  params: { name: 'provider_name' },
  reads: {
    provider: readSubject('secrets.kms.read', { name: 'provider_name' }, 'kms_providers.name'),
    keys: { operation: 'secrets.kms-keys.list', params: { name: 'provider_name' } },
  },
  observe: ({ provider, keys }) =>
    provider.found
      ? {
          keys: listAt(responseBody(keys), 'data', 'keys')?.length ?? null,
          provider: textAt(responseBody(provider), 'data', 'provider'),
          key_collection: textAt(responseBody(provider), 'data', 'key_collection'),
        }
      : null,
  evaluate: (observed, planned) => {
    if (observed === null) return satisfied('the provider is gone');
    for (const name of ['provider', 'key_collection'] as const) {
      if (planned[name] === null || observed[name] === planned[name]) continue;
      return observed[name] === null
        ? unknown(`its \`${name}\` is not reported`)
        : drifted(`it is another provider now: its \`${name}\` is ${observed[name]}`);
    }
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
