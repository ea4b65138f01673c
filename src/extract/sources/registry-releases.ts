import type { Target } from '../../config/config.ts';
import { TidemarkError } from '../../core/errors.ts';
import { textAt } from '../../core/json-path.ts';
import { shortenText } from '../../core/log.ts';
import { plural } from '../../core/plural.ts';
import { catchFailure, lacksEndpoint, ServiceError } from '../../http/errors.ts';
import type { ServiceClient } from '../../services/client.ts';
import type { Operation } from '../../services/operation.ts';
import { registry } from '../../services/registry.ts';
import { listItems, type ServiceResponse } from '../../services/response.ts';
import {
  type ExtractContext,
  type ObjectReader,
  requiredArray,
  requiredString,
  type SourceDefinition,
} from './source.ts';

const LISTS = { provider: registry.providers.versions, module: registry.modules.versions };

/**
 * The versions that a registry has of the providers and public modules in use. Only its list of versions proves that one is gone; dates and
 * warnings are of another address, which stops at 500 versions: docs/services/registry.md.
 */
export const registryReleases: SourceDefinition = {
  name: 'registry_releases',
  kind: 'registry',
  readsTables: true,
  operations: [registry.discovery.read, LISTS.provider, registry.providers.read, LISTS.module],
  extract,
  checkAccess,
};

interface Product {
  /** Source address, as the explorer shows it. */
  readonly source: string;
  readonly kind: 'provider' | 'module';
  readonly versions: readonly string[];
  /** What names it in a path. */
  readonly args: Readonly<Record<'namespace' | 'name', string>> & { readonly provider?: string };
}

async function extract(context: ExtractContext): Promise<void> {
  const { client, landing, objects, forEachLimited } = context;
  const products = await findProducts(context);
  if (products.length === 0) return;
  const lists = await discover(client);
  const keys = products.flatMap(({ source }) => [`versions ${source}`, `dates ${source}`]);
  const reader = await objects({ name: 'registry', objects: keys.map((key) => ({ key, item: null })) });
  const known: Product[] = [];
  await forEachLimited(products, async (product) => {
    const { source, kind, versions, args } = product;
    await landing.writeJson({ source, kind, content: 'used' }, JSON.stringify(versions));
    const landed = reader.land(`versions ${source}`, {
      fields: { source, kind, content: 'versions' },
      read: (options) => client.call(lists[kind], args, options),
      check: (response) => checkVersions(product, response),
    });
    // What the registry says that it does not have, it lists nothing of.
    await landed.then(() => known.push(product), takeNotFound);
  });
  if (known.length === 0) {
    throw new TidemarkError('DATA', 'the registry says that it has nothing of what is in use', {
      hint: 'check `url` and `host` of this target',
    });
  }
  const providers = known.filter(({ kind }) => kind === 'provider');
  await landDates(context, reader, providers);
}

/** For `catch`: the registry says in its own form that it does not have it. */
function takeNotFound(error: unknown): undefined {
  if (!(error instanceof ServiceError) || error.failure !== 'not-found') throw error;
}

/** @throws TidemarkError DATA for a list that is empty, which no product in use has, or with an item that is no version */
function checkVersions({ source, kind }: Product, response: ServiceResponse): void {
  const list = kind === 'module' ? listItems(LISTS.module, response)[0] : response.json();
  const versions = requiredArray(list, 'versions', source);
  if (versions.length === 0) throw new TidemarkError('DATA', `${source}: the registry lists no version`);
  for (const [index, version] of versions.entries()) requiredString(version, 'version', source, index);
}

/**
 * Lands dates and warnings. A mirror need not have their address: where it answers for none of the providers, they are unknown. Where it
 * answers for some, it must say of the others that it does not have them.
 */
async function landDates(
  { client, landing, forEachLimited }: ExtractContext,
  reader: ObjectReader,
  providers: readonly Product[],
) {
  const missing: ServiceError[] = [];
  await forEachLimited(providers, async ({ source, kind, args }) => {
    const landed = reader.land(`dates ${source}`, {
      fields: { source, kind, content: 'dates' },
      read: (options) => client.call(registry.providers.read, { ...args, include: 'provider-versions' }, options),
      check: (response) => void requiredArray(response.json(), 'included', source),
    });
    const refusal = await landed.catch(catchFailure(lacksEndpoint));
    if (refusal) missing.push(refusal);
  });
  const unexplained = missing.find(({ failure }) => failure !== 'not-found');
  if (unexplained && missing.length < providers.length) throw unexplained;
  if (missing.length > 0)
    landing.addNote(`the registry tells no dates and warnings of ${plural(missing.length, 'provider')}`);
}

/** What is in use of the registry's own host. */
async function findProducts({ client, landing, query }: ExtractContext): Promise<readonly Product[]> {
  const host = client.target.host ?? new URL(client.target.url).host;
  const used = (await query('products_in_use')) as readonly unknown[] as readonly Omit<Product, 'args'>[];
  const found = used.map((product) => ({ product, place: parseSource(product.source, product.kind) }));
  const unnamed = found.filter(({ place }) => place === undefined);
  if (unnamed.length > 0) {
    landing.addNote(`${plural(unnamed.length, 'source')} in use without a full address: no registry is asked for them`);
  }
  return found.flatMap(({ place, product }) => (place?.host === host ? [{ ...product, args: place.args }] : []));
}

const SOURCE =
  /^(?<host>[\w-]+(?:\.[\w-]+)+(?::\d+)?|localhost:\d+)\/(?<namespace>[\w-]+)\/(?<name>[\w-]+)(?:\/(?<provider>[\w-]+))?$/u;

/** `registry.terraform.io/hashicorp/aws`, or with the provider of a module as a third name. Undefined without a host. */
function parseSource(source: string, kind: Product['kind']): { host: string; args: Product['args'] } | undefined {
  const { host, namespace = '', name = '', provider } = SOURCE.exec(source)?.groups ?? {};
  if (host === undefined || (provider !== undefined) !== (kind === 'module')) return undefined;
  return { host: host.toLowerCase(), args: { namespace, name, ...(provider !== undefined && { provider }) } };
}

/**
 * The lists at the paths that the registry names; at the usual ones if it names none.
 * @throws TidemarkError DATA if it names another address, to which the token of the target must not be sent
 */
async function discover(client: ServiceClient) {
  const answer = await client.call(registry.discovery.read).catch(catchFailure(lacksEndpoint));
  const services = answer instanceof ServiceError ? undefined : answer.json();
  const at = <O extends Operation>(operation: O, service: string): O => {
    const named = textAt(services, service);
    return named === null ? operation : { ...operation, path: moveTo(client.target, operation.path, service, named) };
  };
  return { provider: at(LISTS.provider, 'providers.v1'), module: at(LISTS.module, 'modules.v1') };
}

function moveTo({ url }: Target, path: string, service: string, named: string): string {
  const base = `${url}/`;
  const to = URL.canParse(named, base) ? new URL(named, base).href.replace(/(?<!\/)\/*$/u, '/') : '';
  if (to.startsWith(base)) return path.replace(/^\/v1\/\w+\//u, () => `/${to.slice(base.length)}`);
  throw new TidemarkError('DATA', `the registry names another address for ${service}: ${shortenText(named, 200)}`, {
    hint: 'set `url` of this target to it',
  });
}

/** Asks for a provider that a registry has, or says in its own form that it does not have it. */
async function checkAccess(client: ServiceClient): Promise<ServiceResponse | undefined> {
  const lists = await discover(client);
  return client.call(lists.provider, { namespace: 'hashicorp', name: 'null' }).catch(takeNotFound);
}
