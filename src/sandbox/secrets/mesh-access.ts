import { uuid } from '../fixtures.ts';
import { createRandom } from '../prng.ts';
import type { Flavor, Request, Resource, Response, Route, ServiceOptions } from '../types.ts';
import {
  badRequest,
  dataResponse,
  NO_CONTENT,
  NOT_FOUND,
  parseBody,
  refuseUnknownFields,
  stringField,
} from './envelope.ts';
import type { MeshRoleRecord } from './mesh-roles.ts';

/** How the engine reaches the mesh. Never returned, except address and scheme. */
export interface MeshConnection {
  readonly address: string;
  readonly scheme: string;
  readonly token: string;
  readonly caCert: string;
  readonly clientCert: string;
  readonly clientKey: string;
}

export interface GeneratedToken {
  readonly role: string;
  readonly token: string;
  readonly leaseId: string;
}

/** The server's default lease, for a role without one: 32 days, as in Vault. */
const DEFAULT_LEASE_SECONDS = 768 * 3600;

/** Connection settings and credentials: docs/services/secrets.md#mesh-access and #mesh-credentials. */
export class MeshAccess implements Resource {
  connection: MeshConnection | undefined;
  /** Every token that was generated, oldest first. */
  readonly generated: GeneratedToken[] = [];
  readonly #mount: string;
  readonly #seed: number;
  readonly #flavor: Flavor;
  readonly #roles: ReadonlyMap<string, MeshRoleRecord>;

  constructor(mount: string, { seed, flavor }: ServiceOptions, roles: ReadonlyMap<string, MeshRoleRecord>) {
    this.#mount = mount;
    this.#seed = seed;
    this.#flavor = flavor;
    this.#roles = roles;
  }

  get routes(): readonly Route[] {
    const config = `/${this.#mount}/config/access`;
    const credentials = `/${this.#mount}/creds/:name`;
    const read: Route = { method: 'GET', path: config, handle: (request) => this.#readConfig(request) };
    return [
      { method: 'POST', path: config, writes: true, handle: (request) => this.#writeConfig(request) },
      ...(this.#flavor === 'hashicorp' ? [read] : []),
      { method: 'GET', path: credentials, writes: true, handle: (request) => this.#generate(request) },
    ];
  }

  #readConfig(request: Request): Response {
    if (!this.connection) return NOT_FOUND;
    const { address, scheme } = this.connection;
    return dataResponse(request, { address, scheme });
  }

  #writeConfig(request: Request): Response {
    const body = parseBody(request);
    refuseUnknownFields(body, ['address', 'scheme', 'token', 'ca_cert', 'client_cert', 'client_key']);
    const address = stringField(body, 'address');
    const token = stringField(body, 'token');
    const clientCert = stringField(body, 'client_cert');
    const clientKey = stringField(body, 'client_key');
    if (address === undefined) throw badRequest('missing required field "address"');
    if (token === undefined) throw badRequest('missing required field "token"');
    if ((clientCert === undefined) !== (clientKey === undefined)) {
      throw badRequest('client_cert and client_key must be set together');
    }
    this.connection = {
      address,
      scheme: stringField(body, 'scheme') ?? 'http',
      token,
      caCert: stringField(body, 'ca_cert') ?? '',
      clientCert: clientCert ?? '',
      clientKey: clientKey ?? '',
    };
    return NO_CONTENT;
  }

  /** Creates a token: a GET that changes the mesh. */
  #generate(request: Request): Response {
    const name = request.params.name!;
    const role = this.#roles.get(name);
    if (!role) throw badRequest(`role "${name}" not found`);
    if (!this.connection) throw badRequest('access credentials for the backend are not configured');
    const random = createRandom(`${this.#seed}/secrets/creds/${this.generated.length}/${name}`);
    const token = uuid(random);
    const lease = {
      id: `${this.#mount}/creds/${name}/${random.id('', 24)}`,
      seconds: role.ttlSeconds || DEFAULT_LEASE_SECONDS,
    };
    this.generated.push({ role: name, token, leaseId: lease.id });
    if (this.#flavor === 'spec') return dataResponse(request, { token }, lease);
    const accessor = uuid(random);
    return dataResponse(request, { token, accessor, local: role.local, consul_namespace: '', partition: '' }, lease);
  }
}
