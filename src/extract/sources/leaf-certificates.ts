import { ServiceError } from '../../http/errors.ts';
import type { UnknownPart } from '../../landing/store.ts';
import type { ServiceClient } from '../../services/client.ts';
import { listServices, mesh } from '../../services/mesh.ts';
import type { ServiceResponse } from '../../services/response.ts';
import { describeCertificates } from './shared/certificates.ts';
import { checkParts, listThenRead } from './shared/list-and-read.ts';
import { optionalString, requiredString, type SourceDefinition } from './source.ts';

/**
 * Leaf certificates of the target's `services`. The landing drops their private keys. Reading a leaf mints a certificate where the
 * agent holds none, so only services that the catalog shows are read (docs/services/mesh.md#leaf-certificates).
 */
export const leafCertificates: SourceDefinition = {
  name: 'leaf_certificates',
  kind: 'mesh',
  operations: [listServices, mesh.connect.authorize, mesh['ca-leaf'].read],
  async extract(context) {
    const { client, landing } = context;
    const { registered, absent, hidden } = await findServices(client);
    for (const service of absent) landing.addNote(`service ${service} is not in the catalog: its leaf is not read`);
    for (const part of hidden) landing.addUnknown(part);
    await listThenRead(context, {
      items: registered,
      relist: async () => (await findServices(client)).registered,
      part: { column: 'service', value: (service) => service },
      read: async (service) => {
        const response = await client.call(mesh['ca-leaf'].read, { service });
        const leaf = response.json();
        requiredString(leaf, 'ValidBefore', `leaf_certificates of ${service}`, 0);
        // The certificates of its signers may follow its own.
        const [certificate] = describeCertificates(optionalString(leaf, 'CertPEM') ?? '');
        await landing.writeJson({ ...certificate, service }, response.text);
        landing.expectRows(1);
      },
    });
  },
  /** Asks whether a service may connect to itself: that needs the right of reading its leaf, and mints nothing. */
  async checkAccess(client, onUnknown) {
    const { registered, hidden } = await findServices(client);
    for (const part of hidden) onUnknown(part);
    await checkParts('service', registered, onUnknown, (service) => {
      const uri = `spiffe://tidemark/ns/default/dc/dc1/svc/${encodeURIComponent(service)}`;
      const body = { Target: service, ClientCertURI: uri, ClientCertSerial: '00' };
      return client.call(mesh.connect.authorize, {}, { body });
    });
    return client.call(mesh['ca-roots'].read);
  },
};

interface Services {
  readonly registered: readonly string[];
  /** Certainly not in the catalog. */
  readonly absent: readonly string[];
  /** Not in what the token sees of the catalog: whether they exist is unknown. */
  readonly hidden: readonly UnknownPart[];
}

const HIDDEN = 'this request does not see the whole catalog';

/**
 * Which of the target's services the catalog has. The API documents have no catalog: there every service counts as registered.
 * @throws ServiceError if the token does not see the whole catalog, and no service is in what it sees
 */
async function findServices(client: ServiceClient): Promise<Services> {
  const { flavor, services, name: target } = client.target;
  if (flavor !== 'hashicorp' || services.length === 0) return { registered: services, absent: [], hidden: [] };
  const catalog = await client.call(listServices);
  const known = new Set(Object.keys(catalog.json() as object));
  const registered = services.filter((service) => known.has(service));
  const missing = services.filter((service) => !known.has(service));
  if (isWhole(client, catalog, known)) return { registered, absent: missing, hidden: [] };
  if (registered.length === 0) {
    throw new ServiceError({
      failure: 'forbidden',
      serviceMessage: `it is not shown whether ${missing.join(', ')} exist: ${HIDDEN}`,
      operation: listServices.name,
      target,
      hint: 'use a token that reads all nodes and services (`tidemark permissions`)',
    });
  }
  const reason = `it is not shown whether it exists: ${HIDDEN}`;
  return { registered, absent: [], hidden: missing.map((value) => ({ column: 'service', value, reason })) };
}

/**
 * Whether a catalog shows every service. Its own servers are always in it, as `consul`. It says that a token does not see a part, but does
 * not say so to a request without a token.
 */
function isWhole({ target }: ServiceClient, { headers }: ServiceResponse, known: ReadonlySet<string>): boolean {
  if (!known.has('consul') || headers.get('x-consul-results-filtered-by-acls') === 'true') return false;
  return target.token !== undefined || headers.get('x-consul-default-acl-policy') === 'allow';
}
