import { ServiceError } from '../http/errors.ts';
import type { ServiceClient } from '../services/client.ts';
import { listServices, mesh } from '../services/mesh.ts';
import { requiredString, type SourceDefinition } from './source.ts';

/**
 * Leaf certificates of the target's `services`. The landing drops their private keys. Reading a leaf mints a certificate where the
 * agent holds none, so a service that the catalog does not know is left out (docs/services/mesh.md#leaf-certificates).
 */
export const leafCertificates: SourceDefinition = {
  name: 'leaf_certificates',
  kind: 'mesh',
  operations: [listServices, mesh['ca-leaf'].read],
  async extract({ client, landing, forEachLimited }) {
    const unknown = await findUnknownServices(client);
    for (const service of unknown) landing.addNote(`service ${service} is not in the catalog: its leaf is not read`);
    const services = client.target.services.filter((service) => !unknown.includes(service));
    await forEachLimited(services, async (service) => {
      const response = await client.call(mesh['ca-leaf'].read, { service });
      requiredString(response.json(), 'ValidBefore', `leaf_certificates of ${service}`, 0);
      await landing.writeJson({ service }, response.text);
      landing.expectRows(1);
    });
  },
  checkAccess: async (client) => {
    const unknown = await findUnknownServices(client);
    const service = client.target.services.find((name) => !unknown.includes(name));
    return service === undefined ? client.call(mesh['ca-roots'].read) : client.call(mesh['ca-leaf'].read, { service });
  },
};

/** Set by Consul when the token may not see some of the results. */
const FILTERED = 'x-consul-results-filtered-by-acls';

/** The target's services that the catalog does not have; none where the catalog cannot be asked, or is not seen whole. */
async function findUnknownServices(client: ServiceClient): Promise<readonly string[]> {
  const { flavor, services } = client.target;
  if (flavor !== 'hashicorp' || services.length === 0) return [];
  try {
    const catalog = await client.call(listServices);
    if (catalog.headers.get(FILTERED) === 'true') return [];
    const known = new Set(Object.keys(catalog.json() as object));
    return services.filter((service) => !known.has(service));
  } catch (error) {
    if (error instanceof ServiceError && ['forbidden', 'not-found', 'invalid'].includes(error.failure)) return [];
    throw error;
  }
}
