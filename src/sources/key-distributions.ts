import { secrets } from '../services/secrets/operations.ts';
import { listNames } from './names.ts';
import { checkListAndRead } from './probe.ts';
import { listThenRead } from './shared/list-and-read.ts';
import type { ExtractContext, SourceDefinition } from './source.ts';

/** Every key of every provider (secrets.md, "Key as distributed to a provider"). */
export const keyDistributions: SourceDefinition = {
  name: 'key_distributions',
  kind: 'secrets',
  checkAccess: (service) =>
    checkListAndRead(service, secrets.kms.list, {}, (name) =>
      typeof name === 'string' ? service.call(secrets['kms-keys'].list, { name }) : undefined,
    ),
  async extract(run) {
    const again = () => listNames(run, secrets.kms.list);
    const providers = await run.once(secrets.kms.list.name, again);
    await listThenRead(run, providers, again, String, (provider) => landProvider(run, provider));
  },
};

async function landProvider(run: ExtractContext, provider: string): Promise<void> {
  const again = () => listNames(run, secrets['kms-keys'].list, { name: provider });
  await listThenRead(run, await again(), again, String, async (key) => {
    const answer = await run.client.call(
      secrets['kms-keys'].read,
      { name: provider, key_name: key },
      run.requestOptions,
    );
    await run.landing.writeJson({ provider_name: provider, key_name: key }, answer.text);
    run.landing.expectRows(1);
  });
}
