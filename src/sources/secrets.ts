import type { Operation } from '../services/operation.ts';
import { secrets } from '../services/secrets.ts';
import { gone } from './agents.ts';
import type { Extraction, Source } from './source.ts';

/** The names that a LIST answers with; an empty list is an answer too. */
async function listed(
  run: Extraction,
  operation: Operation,
  args: Record<string, string> = {},
): Promise<readonly string[]> {
  const answer = await run.service.call(operation, args, run.options);
  const { data } = answer.json() as { data?: { keys?: unknown } };
  const names = Array.isArray(data?.keys) ? data.keys : [];
  return names.filter((name): name is string => typeof name === 'string');
}

const keyNames = (run: Extraction) => run.shared('keys', () => listed(run, secrets.keys.list));
const providerNames = (run: Extraction) => run.shared('kms providers', () => listed(run, secrets.kms.list));

/** Lands what reading each of the names answers. */
async function landEach(run: Extraction, operation: Operation, names: readonly string[]): Promise<void> {
  await run.each(names, async (name) => {
    const [answer] = await run.service.call(operation, { name }, run.options).then((found) => [found], gone);
    if (!answer) return;
    await run.land.line({ name }, answer.text);
    run.land.expect(1);
  });
}

/** Keys with their versions (secrets.md, "Key"). */
export const keys: Source = {
  name: 'keys',
  kind: 'secrets',
  extract: async (run) => landEach(run, secrets.keys.read, await keyNames(run)),
};

export const kmsProviders: Source = {
  name: 'kms_providers',
  kind: 'secrets',
  extract: async (run) => landEach(run, secrets.kms.read, await providerNames(run)),
};

/** Every key of every provider (secrets.md, "Key as distributed to a provider"). */
export const keyDistributions: Source = {
  name: 'key_distributions',
  kind: 'secrets',
  async extract(run) {
    await run.each(await providerNames(run), async (provider) => {
      for (const key of await listed(run, secrets['kms-keys'].list, { name: provider }).catch(gone)) {
        await landDistribution(run, provider, key);
      }
    });
  },
};

async function landDistribution(run: Extraction, provider: string, key: string): Promise<void> {
  const args = { name: provider, key_name: key };
  const [answer] = await run.service.call(secrets['kms-keys'].read, args, run.options).then((found) => [found], gone);
  if (!answer) return;
  await run.land.line({ provider_name: provider, key_name: key }, answer.text);
  run.land.expect(1);
}

/** Roles of the mesh credential engine; the credentials themselves are minted by a GET, which is an action and no source. */
export const meshRoles: Source = {
  name: 'mesh_roles',
  kind: 'secrets',
  extract: async (run) => landEach(run, secrets['mesh-roles'].read, await listed(run, secrets['mesh-roles'].list)),
};
