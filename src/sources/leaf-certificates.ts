import { ServiceError } from '../http/errors.ts';
import type { ServiceClient } from '../services/client.ts';
import { listServices, mesh } from '../services/mesh.ts';
import type { ServiceResponse } from '../services/response.ts';
import { requiredString, type SourceDefinition } from './source.ts';

/**
 * Leaf certificates of the target's `services`. The landing drops their private keys. Reading a leaf mints a certificate where the
 * agent holds none, so only services that the catalog shows are read (docs/services/mesh.md#leaf-certificates).
 */
export const leafCertificates: SourceDefinition = {
  name: 'leaf_certificates',
  kind: 'mesh',
  operations: [listServices, mesh.connect.authorize, mesh['ca-leaf'].read],
  async extract({ client, landing, forEachLimited }) {
    const { registered, absent } = await findServices(client);
    for (const service of absent) landing.addNote(`service ${service} is not in the catalog: its leaf is not read`);
    await forEachLimited(registered, async (service) => {
      const response = await client.call(mesh['ca-leaf'].read, { service });
      requiredString(response.json(), 'ValidBefore', `leaf_certificates of ${service}`, 0);
      await landing.writeJson({ service }, response.text);
      landing.expectRows(1);
    });
  },
  /** Asks whether a service may connect to itself: that needs the right of reading its leaf, and mints nothing. */
  async checkAccess(client) {
    const { registered } = await findServices(client);
    for (const service of registered) {
      const uri = `spiffe://tidemark/ns/default/dc/dc1/svc/${encodeURIComponent(service)}`;
      const body = { Target: service, ClientCertURI: uri, ClientCertSerial: '00' };
      await client.call(mesh.connect.authorize, {}, { body });
    }
    return client.call(mesh['ca-roots'].read);
  },
};

interface Services {
  readonly registered: readonly string[];
  /** Certainly not in the catalog. */
  readonly absent: readonly string[];
}

/**
 * Which of the target's services the catalog has. The API documents have no catalog: there every service counts as registered.
 * @throws ServiceError if the token does not see the whole catalog, and a service is not in what it sees
 */
async function findServices(client: ServiceClient): Promise<Services> {
  const { flavor, services, name: target } = client.target;
  if (flavor !== 'hashicorp' || services.length === 0) return { registered: services, absent: [] };
  const catalog = await client.call(listServices);
  const known = new Set(Object.keys(catalog.json() as object));
  const absent = services.filter((service) => !known.has(service));
  if (absent.length > 0 && !isWhole(client, catalog, known)) {
    throw new ServiceError({
      failure: 'forbidden',
      serviceMessage: `it is not shown whether ${absent.join(', ')} exist: this request does not see the whole catalog`,
      operation: listServices.name,
      target,
      hint: 'use a token that reads all nodes and services (`tidemark permissions`)',
    });
  }
  return { registered: services.filter((service) => known.has(service)), absent };
}

/**
 * Whether a catalog shows every service. Its own servers are always in it, as `consul`. It says that a token does not see a part, but does
 * not say so to a request without a token.
 */
function isWhole({ target }: ServiceClient, { headers }: ServiceResponse, known: ReadonlySet<string>): boolean {
  if (!known.has('consul') || headers.get('x-consul-results-filtered-by-acls') === 'true') return false;
  return target.token !== undefined || headers.get('x-consul-default-acl-policy') === 'allow';
}
