import { textAt } from '../../core/json-path.ts';
import { catchFailure, ServiceError } from '../../http/errors.ts';
import type { UnknownPart } from '../../landing/store.ts';
import type { ServiceClient } from '../../services/client.ts';
import { listServices, type MeshService, mesh, parseService } from '../../services/mesh.ts';
import type { ServiceResponse } from '../../services/response.ts';
import { describeCertificates } from './shared/certificates.ts';
import { describeFailure, listThenRead, type Part, readParts, toUnknown } from './shared/list-and-read.ts';
import { requiredString, type SourceDefinition } from './source.ts';

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
    const found = await findServices(client);
    for (const { key } of select(found, 'absent'))
      landing.addNote(`service ${key} is not in the catalog: its leaf is not read`);
    for (const hidden of select(found, 'hidden')) landing.addUnknown(describeHidden(hidden));
    await listThenRead(context, {
      items: select(found, 'registered'),
      relist: async () => select(await findServices(client), 'registered'),
      toPart,
      isRefusal,
      read: async ({ service, ns }) => {
        const response = await client.call(mesh['ca-leaf'].read, { service, ...withNamespace(ns) });
        const leaf = response.json();
        requiredString(leaf, 'ValidBefore', `leaf_certificates of ${service}`, 0);
        assertNamespace(client, leaf, ns);
        // The certificates of its signers may follow its own.
        const [certificate] = describeCertificates(textAt(leaf, 'CertPEM') ?? '');
        await landing.writeJson({ ...certificate, service, asked_namespace: ns ?? null }, response.text);
        landing.expectRows(1);
      },
    });
  },
  /** Asks whether a service may connect to itself: that needs the right of reading its leaf, and mints nothing. */
  async checkAccess(client, onUnknown) {
    const found = await findServices(client);
    for (const hidden of select(found, 'hidden')) onUnknown(describeHidden(hidden));
    const authorize = ({ service, ns }: MeshService) => {
      const uri = `spiffe://tidemark/ns/${encodeURIComponent(ns ?? 'default')}/dc/dc1/svc/${encodeURIComponent(service)}`;
      const body = { Target: service, ClientCertURI: uri, ClientCertSerial: '00' };
      return client.call(mesh.connect.authorize, withNamespace(ns), { body });
    };
    await readParts(select(found, 'registered'), { toPart, isRefusal }, onUnknown, authorize);
    return client.call(mesh['ca-roots'].read);
  },
};

/** A service of the target in what the token sees of the catalog: `absent` is certain, a `hidden` one may exist. */
type FoundService = MeshService & {
  readonly state: 'registered' | 'absent' | 'hidden';
  /** Why the catalog of its namespace is not shown. */
  readonly refusal?: ServiceError;
};

const select = (found: readonly FoundService[], state: FoundService['state']) =>
  found.filter((service) => service.state === state);

const withNamespace = (ns: string | undefined) => (ns === undefined ? {} : { ns });

/** A server without namespaces answers 400 to every one. */
function isRefusal({ failure }: ServiceError, { ns }: Pick<MeshService, 'ns'>): boolean {
  return failure === 'forbidden' || (failure === 'invalid' && ns !== undefined);
}

/** A service that does not know the parameter, or does not get the header, answers with the leaf of another namespace. */
function assertNamespace({ target }: ServiceClient, leaf: unknown, ns = target.namespace): void {
  const inUri = /\/ns\/([^/]+)\//u.exec(textAt(leaf, 'ServiceURI') ?? '')?.[1];
  const answered = textAt(leaf, 'Namespace') || inUri;
  if (ns === undefined || answered === undefined || answered === ns) return;
  const { name: operation } = mesh['ca-leaf'].read;
  const serviceMessage = `the answer is of namespace ${answered}`;
  throw new ServiceError({ failure: 'invalid', serviceMessage, operation, target: target.name });
}

function toPart({ service, ns }: MeshService): Part {
  const part = { column: 'service', value: service };
  return ns === undefined ? part : { ...part, within: { column: 'namespace', value: ns } };
}

const HIDDEN = 'this request does not see the whole catalog';

function describeHidden({ refusal, ...service }: FoundService): UnknownPart {
  const reason = refusal ? describeFailure(refusal) : `it is not shown whether it exists: ${HIDDEN}`;
  return toUnknown(toPart(service), reason);
}

/**
 * Which of the target's services the catalog has. The API documents have no catalog: there every service counts as registered.
 * @throws ServiceError if the token does not see the whole catalog, and no service is in what it sees
 */
async function findServices(client: ServiceClient): Promise<readonly FoundService[]> {
  const services = client.target.services.map(parseService);
  if (client.target.flavor !== 'hashicorp') return services.map((service) => ({ ...service, state: 'registered' }));
  const namespaces = [...new Set(services.map(({ ns }) => ns))];
  const inNamespace = (ns: string | undefined) => services.filter((service) => service.ns === ns);
  const found = (await Promise.all(namespaces.map((ns) => findInNamespace(client, ns, inNamespace(ns))))).flat();
  const hidden = select(found, 'hidden');
  if (hidden.length === 0 || select(found, 'registered').length > 0) return found;
  throw (
    hidden.find(({ refusal }) => refusal)?.refusal ??
    new ServiceError({
      failure: 'forbidden',
      serviceMessage: `it is not shown whether ${hidden.map(({ key }) => key).join(', ')} exist: ${HIDDEN}`,
      operation: listServices.name,
      target: client.target.name,
      hint: 'use a token that reads all nodes and services (`tidemark permissions`)',
    })
  );
}

async function findInNamespace(
  client: ServiceClient,
  ns: string | undefined,
  services: readonly MeshService[],
): Promise<readonly FoundService[]> {
  const takeRefusal = catchFailure((error) => ns !== undefined && isRefusal(error, { ns }));
  const catalog = await client.call(listServices, withNamespace(ns)).catch(takeRefusal);
  if (catalog instanceof ServiceError)
    return services.map((service) => ({ ...service, state: 'hidden', refusal: catalog }));
  const known = new Set(Object.keys(catalog.json() as object));
  const missing = isWhole(client, catalog, known) ? 'absent' : 'hidden';
  return services.map((service) => ({ ...service, state: known.has(service.service) ? 'registered' : missing }));
}

/**
 * Whether a catalog shows every service. Its own servers are always in it, as `consul`, but for that of a namespace. It says that a token does not see a part, but does
 * not say so to a request without a token, nor in an earlier version, which does not name its backend either.
 */
function isWhole({ target }: ServiceClient, { headers }: ServiceResponse, known: ReadonlySet<string>): boolean {
  if (!known.has('consul') || headers.get('x-consul-results-filtered-by-acls') === 'true') return false;
  if (target.token === undefined) return headers.get('x-consul-default-acl-policy') === 'allow';
  return headers.has('x-consul-query-backend');
}
