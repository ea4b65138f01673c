import { secrets } from '../../services/secrets/operations.ts';
import { checkFirst, extractNamed, leavePart, listNames, listThenRead } from './shared/list-and-read.ts';
import type { SourceDefinition } from './source.ts';

const { kms, 'kms-keys': keys } = secrets;

/** The keys of every KMS provider: docs/services/secrets.md#key-distributions. */
export const keyDistributions: SourceDefinition = {
  name: 'key_distributions',
  kind: 'secrets',
  operations: [kms.list, keys.list, keys.read],
  async extract(context) {
    const relist = () => listNames(context, kms.list);
    await listThenRead(context, {
      items: await context.once(kms.list.name, relist),
      relist,
      toPart: ({ key: value }) => ({ column: 'provider_name', value }),
      read: ({ key: name }) => extractNamed(context, keys, { name }, 'key_name'),
      onGone: leavePart(context, 'provider_name'),
    });
  },
  checkAccess: checkFirst(kms.list, keys.list),
};
