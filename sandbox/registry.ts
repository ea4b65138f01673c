import { createHash } from 'node:crypto';
import { DAY_MS } from '../src/core/clock.ts';
import { type Estate, readEstate } from './estate.ts';
import { HttpError } from './router.ts';
import type { Request, Response, Route, Service, ServiceOptions } from './types.ts';

type RegistryState = ReturnType<typeof seedRegistry>;

/** The address with dates has no more versions than these, the newest. */
const MAX_DATED = 500;

/** A provider has more versions than that. */
const LONG_LISTED = { source: 'hashicorp/aws', majors: 6, minors: 87 };
const WITHDRAWN = { source: 'hashicorp/kubernetes', version: '2.35.1' };
const DEPRECATED = { source: 'terraform-aws-modules/eks/aws', version: '20.8.5' };
const WARNED = 'hashicorp/random';

/** A public registry with what the workspaces of the platform use. It takes no token, and answers 304 to who knows the answer. */
export class RegistryService implements Service {
  readonly kind = 'registry';
  readonly base = '';
  readonly state: RegistryState;
  readonly routes: readonly Route[];
  readonly #start: Date;

  constructor({ estate, start }: ServiceOptions) {
    this.#start = start;
    this.state = seedRegistry(readEstate(estate));
    const route = (path: string, body: (request: Request) => unknown): Route => ({
      method: 'GET',
      path,
      handle: (request) => conditionalResponse(request, body(request)),
    });
    this.routes = [
      route('/.well-known/terraform.json', () => ({ 'modules.v1': '/v1/modules/', 'providers.v1': '/v1/providers/' })),
      route('/v1/providers/:namespace/:name/versions', (request) => this.#providerVersions(request)),
      route('/v2/providers/:namespace/:name', (request) => this.#provider(request)),
      route('/v1/modules/:namespace/:name/:provider/versions', (request) => this.#moduleVersions(request)),
    ];
  }

  error(status: number, message: string): Response {
    return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ errors: [message] }) };
  }

  authenticate(): undefined {
    return undefined;
  }

  tick(): void {}

  #providerVersions({ params: { namespace, name } }: Request) {
    const { versions, withdrawn } = find(this.state.providers, `${namespace}/${name}`);
    const listed = versions.filter(({ version }) => !withdrawn.has(version));
    const platforms = [{ os: 'linux', arch: 'amd64' }];
    return {
      id: `${namespace}/${name}`,
      versions: listed.map(({ version }) => ({ version, protocols: ['5.0'], platforms })),
      warnings: null,
    };
  }

  #provider({ params: { namespace, name }, query }: Request) {
    const { versions, warning } = find(this.state.providers, `${namespace}/${name}`);
    const attributes = {
      namespace,
      name,
      'full-name': `${namespace}/${name}`,
      tier: 'official',
      unlisted: false,
      warning,
    };
    const data = { type: 'providers', id: '1', attributes };
    if (query.get('include') !== 'provider-versions') return { data };
    const included = versions.slice(0, MAX_DATED).map(({ version, ageDays }, index) => ({
      type: 'provider-versions',
      id: String(index + 1),
      attributes: { version, tag: `v${version}`, 'published-at': this.publishedAt(ageDays), downloads: 1 },
    }));
    return { data, included };
  }

  #moduleVersions({ params: { namespace, name, provider } }: Request) {
    const source = `${namespace}/${name}/${provider}`;
    const { versions } = find(this.state.modules, source);
    return { modules: [{ source, versions: versions.map((version) => ({ ...version, root: { dependencies: [] } })) }] };
  }

  publishedAt(ageDays: number): string {
    return new Date(this.#start.getTime() - ageDays * DAY_MS).toISOString().replace('.000Z', 'Z');
  }
}

function find<T>(records: ReadonlyMap<string, T>, source: string): T {
  const record = records.get(source);
  if (record === undefined) throw new HttpError(404, 'Not Found');
  return record;
}

function conditionalResponse({ headers }: Request, value: unknown): Response {
  const body = JSON.stringify(value);
  const etag = `W/"${createHash('sha256').update(body).digest('hex').slice(0, 32)}"`;
  if (headers['if-none-match'] === etag) return { status: 304, headers: { etag } };
  return { status: 200, headers: { 'content-type': 'application/json', etag }, body };
}

/** Providers by names such as `hashicorp/aws`, modules by names such as `terraform-aws-modules/vpc/aws`. */
function seedRegistry({ platform: { providers, modules }, registry: { reason } }: Estate) {
  const seed = <T>(products: typeof providers, create: (source: string, used: readonly string[], why: string) => T) => {
    const isPublic = products.filter(({ registry }) => registry === 'public');
    return new Map(isPublic.map(({ source, versions }) => [source, create(source, versions, reason)]));
  };
  return { providers: seed(providers, seedProvider), modules: seed(modules, seedModule) };
}

function seedProvider(source: string, used: readonly string[], reason: string) {
  const { majors, minors } = LONG_LISTED;
  const all = Array.from(
    { length: majors * minors },
    (_, index) => `${Math.floor(index / minors) + 1}.${index % minors}.0`,
  );
  const versions = [...new Set([...(source === LONG_LISTED.source ? all : []), ...used])]
    .sort(compareVersions)
    .reverse();
  return {
    // Newest first, with the days since each was published.
    versions: versions.map((version, index) => ({ version, ageDays: 20 + index * 6 })),
    // Versions that the list does not have any more.
    withdrawn: new Set(source === WITHDRAWN.source ? [WITHDRAWN.version] : []),
    warning: source === WARNED ? `This provider is no longer maintained: ${reason}` : '',
  };
}

function seedModule(source: string, used: readonly string[], reason: string) {
  const deprecation = { reason, link: 'https://example.com/deprecated' };
  const isDeprecated = (version: string) => source === DEPRECATED.source && version === DEPRECATED.version;
  return { versions: used.map((version) => ({ version, deprecation: isDeprecated(version) ? deprecation : null })) };
}

function compareVersions(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}
