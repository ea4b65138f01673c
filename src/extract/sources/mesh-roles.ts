import { meshMounts } from '../../config/config.ts';
import { TidemarkError } from '../../core/errors.ts';
import { toFields, valueAt } from '../../core/json-path.ts';
import { shortenText } from '../../core/log.ts';
import type { ServiceClient } from '../../services/client.ts';
import type { ServiceResponse } from '../../services/response.ts';
import { secrets } from '../../services/secrets/operations.ts';
import { checkFirst, extractNamed, isPartFailure, readParts } from './shared/list-and-read.ts';
import type { OnUnknown, SourceDefinition } from './source.ts';

const operations = secrets['mesh-roles'];

/** Roles of the mesh engines. Its credentials are not a source, since reading them creates a token. */
export const meshRoles: SourceDefinition = {
  name: 'mesh_roles',
  kind: 'secrets',
  operations: [operations.list, operations.read],
  async extract(context) {
    const { client, landing } = context;
    const addUnknown: OnUnknown = (part) => landing.addUnknown(part);
    await callMounts(client, addUnknown, async (mount) => {
      const start = await landing.checkpoint();
      await extractNamed(context, { ...operations, check: assertPolicies }, { mount }).catch(async (error: unknown) => {
        await landing.rollback(start);
        throw error;
      });
    });
  },
  async checkAccess(client, onUnknown) {
    let response: ServiceResponse | undefined;
    await callMounts(client, onUnknown, async (mount) => {
      response = await checkFirst(operations.list, operations.read, 'name', { mount })(client);
    });
    return response;
  },
};

/**
 * Vault shows policies as a list of names, or with commas.
 * @throws TidemarkError DATA for another form: the role would look like one with fewer rights
 */
function assertPolicies(response: ServiceResponse, role: string): void {
  const data = toFields(valueAt(response.json(), 'data'));
  for (const field of ['policies', 'consul_policies']) {
    const names = [data[field] ?? []].flat();
    if (names.some((name) => typeof name !== 'string'))
      throw new TidemarkError('DATA', `mesh_roles: the ${field} of the role ${shortenText(role, 100)} are no names`);
  }
}

/** A mount whose engine is gone or does not answer is unknown, unless none does. */
function callMounts(client: ServiceClient, onUnknown: OnUnknown, call: (mount: string) => Promise<void>) {
  const parts = { toPart: (value: string) => ({ column: 'mount', value }), isRefusal: isPartFailure };
  return readParts(meshMounts(client.target), parts, onUnknown, call);
}
