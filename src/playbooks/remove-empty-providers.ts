import { z } from 'zod';
import { bodyOf, listAt } from './answers.ts';
import { simplePlaybook } from './playbook.ts';
import { step } from './step.ts';
import { changed, done, due } from './verdict.ts';

const facts = z.object({ provider_name: z.string() });

const remove = step(facts, {
  operation: 'secrets.kms.delete',
  params: { name: 'provider_name' },
  reads: {
    provider: { operation: 'secrets.kms.read', params: { name: 'provider_name' } },
    keys: { operation: 'secrets.kms-keys.list', params: { name: 'provider_name' } },
  },
  see: ({ provider, keys }) => (provider.found ? { keys: listAt(bodyOf(keys), 'data', 'keys')?.length ?? null } : null),
  judge: (seen) => {
    if (seen === null) return done('the provider is gone');
    if (seen.keys === null) return changed('what it holds is not told');
    return seen.keys > 0 ? changed(`it holds ${seen.keys} key(s)`) : due;
  },
});

export const removeEmptyProviders = simplePlaybook({
  name: 'remove-empty-providers',
  rule: 'empty-kms-provider',
  about: 'delete KMS providers that hold no key',
  table: 'kms_providers',
  detail: facts,
  step: remove,
  summary: ({ detail }) => `delete KMS provider ${detail.provider_name}`,
});
