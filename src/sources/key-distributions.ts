import { secrets } from '../services/secrets.ts';
import { eachListed } from './listed.ts';
import { listNames } from './names.ts';
import { probeFirst } from './probe.ts';
import type { Extraction, Source } from './source.ts';

/** Every key of every provider (secrets.md, "Key as distributed to a provider"). */
export const keyDistributions: Source = {
  name: 'key_distributions',
  kind: 'secrets',
  probe: (service) =>
    probeFirst(service, secrets.kms.list, {}, (name) =>
      typeof name === 'string' ? service.call(secrets['kms-keys'].list, { name }) : undefined,
    ),
  async extract(run) {
    const again = () => listNames(run, secrets.kms.list);
    const providers = await run.shared(secrets.kms.list.name, again);
    await eachListed(run, providers, again, String, (provider) => landProvider(run, provider));
  },
};

async function landProvider(run: Extraction, provider: string): Promise<void> {
  const again = () => listNames(run, secrets['kms-keys'].list, { name: provider });
  await eachListed(run, await again(), again, String, async (key) => {
    const answer = await run.service.call(secrets['kms-keys'].read, { name: provider, key_name: key }, run.options);
    await run.land.line({ provider_name: provider, key_name: key }, answer.text);
    run.land.expect(1);
  });
}
