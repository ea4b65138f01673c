import { secrets } from '../../services/secrets/operations.ts';
import { CONDITIONAL, checkNamed, listNames, listThenLand, listThenRead } from './shared/list-and-read.ts';
import type { ExtractContext, SourceDefinition } from './source.ts';

/** The keys of every KMS provider: docs/services/secrets.md#key-distributions. */
export const keyDistributions: SourceDefinition = {
  name: 'key_distributions',
  kind: 'secrets',
  operations: [secrets.kms.list, secrets['kms-keys'].list, secrets['kms-keys'].read],
  unchanged: CONDITIONAL,
  async extract(context) {
    const relist = () => listNames(context, secrets.kms.list);
    await listThenRead(context, {
      items: await context.once(secrets.kms.list.name, relist),
      relist,
      read: ({ key }) => extractProvider(context, key),
    });
  },
  checkAccess: checkNamed({ list: secrets.kms.list, read: secrets['kms-keys'].list }),
};

async function extractProvider(context: ExtractContext, provider: string): Promise<void> {
  const { client } = context;
  const relist = () => listNames(context, secrets['kms-keys'].list, { name: provider });
  await listThenLand(context, {
    name: `distributions of ${provider}`,
    items: await relist(),
    relist,
    request: ({ key }) => ({
      fields: { provider_name: provider, key_name: key },
      read: (options) => client.call(secrets['kms-keys'].read, { name: provider, key_name: key }, options),
    }),
    isRow: true,
  });
}
