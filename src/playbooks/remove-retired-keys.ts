import { z } from 'zod';
import { bodyOf, booleanAt, listAt } from './answers.ts';
import { type Deed, playbook } from './playbook.ts';
import { step } from './step.ts';
import { changed, done, due } from './verdict.ts';

const detail = z.object({ key_name: z.string(), providers: z.array(z.string()) });
const removeFacts = z.object({ key_name: z.string(), provider_name: z.string() });
const deleteFacts = z.object({ key_name: z.string() });

const readKey = { operation: 'secrets.keys.read', params: { name: 'key_name' } } as const;

const remove = step(removeFacts, {
  operation: 'secrets.kms-keys.remove',
  params: { name: 'provider_name', key_name: 'key_name' },
  reads: {
    key: readKey,
    held: { operation: 'secrets.kms-keys.read', params: { name: 'provider_name', key_name: 'key_name' } },
  },
  see: ({ key, held }) => ({
    held: held.found,
    deletion_allowed: booleanAt(bodyOf(key), 'data', 'deletion_allowed'),
  }),
  judge: ({ held, deletion_allowed }) => {
    if (!held) return done('the provider does not hold it');
    return deletion_allowed === true ? due : changed('the key may not be deleted any more');
  },
});

const destroy = step(deleteFacts, {
  operation: 'secrets.keys.delete',
  params: { name: 'key_name' },
  reads: { key: readKey, providers: { operation: 'secrets.keys.providers', params: { name: 'key_name' } } },
  see: ({ key, providers }) =>
    key.found
      ? {
          deletion_allowed: booleanAt(bodyOf(key), 'data', 'deletion_allowed'),
          providers: listAt(bodyOf(providers), 'data', 'keys')?.map(String) ?? null,
        }
      : null,
  judge: (seen) => {
    if (seen === null) return done('the key is gone');
    if (seen.deletion_allowed !== true) return changed('it may not be deleted any more');
    if (seen.providers === null) return changed('who holds it is not told');
    return seen.providers.length > 0 ? changed(`it is held by ${seen.providers.join(', ')}`) : due;
  },
});

export const removeRetiredKeys = playbook({
  name: 'remove-retired-keys',
  rule: 'retired-key',
  about: 'take keys that may be deleted from their providers, and delete them',
  table: 'keys',
  steps: [remove, destroy],
  detail,
  plan: ({ detail: { key_name, providers } }): Deed[] => [
    ...providers.map((provider_name) => ({
      step: remove,
      facts: { key_name, provider_name },
      summary: `take key ${key_name} from provider ${provider_name}`,
    })),
    { step: destroy, facts: { key_name }, summary: `delete key ${key_name}` },
  ],
});
