import { stringify } from 'lossless-json';
import { meshMounts, type Target } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { HEADER_TEXT, isHeaderText } from '../core/header-text.ts';
import { stripControls } from '../core/log.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { collectSecretFields, collectTexts } from '../core/redact/secret-fields.ts';
import type { HttpRequest } from '../http/client.ts';
import type { Args, Operation, QueryPairs, RequestDraft } from './operation.ts';
import { findPermission } from './permission.ts';

export interface RequestParts {
  readonly args: Args;
  readonly body: unknown;
  /** Use the `writeToken` of the target, if it has one. */
  readonly write: boolean;
  /** Others, which a service has sent. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Selects a page. Replaces arguments of the same name. */
  readonly pageQuery?: QueryPairs;
}

const JSON_API = 'application/vnd.api+json';

/** Builds the request of an operation from validated arguments. @throws TidemarkError USAGE where a header cannot carry one */
export function buildRequest(operation: Operation, target: Target, parts: RequestParts): HttpRequest {
  const { args, write, headers = {}, pageQuery = [] } = parts;
  const spec: RequestDraft = {
    path: fillPath(applyMount(operation.path, target, args.mount), args, target),
    query: [...buildQuery(operation, args, target), ...namespaceQuery(operation, args, target)],
    headers: {},
    body: parts.body,
  };
  const draft = target.flavor === 'hashicorp' ? (operation.hashicorp?.(spec, args) ?? spec) : spec;
  const replaced = new Set(pageQuery.map(([name]) => name));
  const query = [...draft.query.filter(([name]) => !replaced.has(name)), ...pageQuery];
  const body = draft.body === undefined ? undefined : stringify(draft.body);
  const own = buildHeaders(operation, target, body !== undefined);
  return {
    operation: operation.name,
    method: operation.method,
    url: new URL(`${target.url}${draft.path}${formatQuery(query)}`),
    headers: { ...assertHeaders(operation, { ...own, ...draft.headers }), ...headers },
    body,
    mutates: operation.mutates,
    retryPolicy: operation.retryPolicy,
    useWriteToken: write,
  };
}

/** The error of `fetch` for such a header repeats its value, which may be a secret. */
function assertHeaders({ name }: Operation, headers: Readonly<Record<string, string>>) {
  const wrong = Object.keys(headers).find((header) => !isHeaderText(headers[header] ?? ''));
  if (wrong === undefined) return headers;
  throw new TidemarkError('USAGE', `${name}: the header ${wrong} must be ${HEADER_TEXT}`);
}

/**
 * The first segment of a secrets path is the engine's default mount: docs/services/secrets.md#conventions.
 * @param mount of the mesh credentials engine. @default the first
 */
export function applyMount(path: string, target: Target, mount?: unknown): string {
  if (target.kind !== 'secrets') return path;
  const paths = { keymgmt: target.mounts.keymgmt, mesh: String(mount ?? meshMounts(target)[0]) };
  return path.replace(/^\/(keymgmt|mesh)(?=\/)/u, (_, engine: keyof typeof paths) => `/${paths[engine]}`);
}

function fillPath(path: string, args: Args, target: Target): string {
  return path.replaceAll(/\{([^}]+)\}/gu, (_, name: string) =>
    encodeURIComponent(String(name === 'organization_name' ? (target.organization ?? '') : args[name])),
  );
}

function buildQuery({ params, queryEncoder }: Operation, args: Args, { flavor }: Target): QueryPairs {
  const plain = Object.entries(args).flatMap(([name, value]): QueryPairs => {
    if (value === undefined || queryEncoder?.handles(name) || params[name]?.in !== 'query') return [];
    return [[name, [value].flat().map(String).join(',')]];
  });
  return [...(queryEncoder?.encode(args, flavor) ?? []), ...plain];
}

/** The target's namespace, for operations with that parameter; only lists accept `*`. */
function namespaceQuery(operation: Operation, args: Args, { kind, namespace }: Target): QueryPairs {
  if (kind !== 'scheduler' || namespace === undefined || args.namespace !== undefined) return [];
  if (operation.params.namespace === undefined) return [];
  return namespace === '*' && operation.responseType !== 'array' ? [] : [['namespace', namespace]];
}

function formatQuery(query: QueryPairs): string {
  const pairs = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`);
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function buildHeaders(operation: Operation, target: Target, hasBody: boolean): Record<string, string> {
  const isJsonApi = target.kind === 'platform' && operation.responseType !== 'csv';
  return {
    'User-Agent': 'tidemark',
    'Cache-Control': 'no-cache', // a cache on the way asks the service first: an answer that is acted on is of now
    Accept: isJsonApi ? JSON_API : operation.responseType === 'csv' ? '*/*' : 'application/json',
    ...(isJsonApi && { 'Content-Type': JSON_API }),
    ...(hasBody && !isJsonApi && { 'Content-Type': 'application/json' }),
    ...namespaceHeader(operation, target),
    // An agent or a proxy may require it: docs/services/secrets.md#authentication.
    ...(target.kind === 'secrets' && target.flavor === 'hashicorp' && { 'X-Vault-Request': 'true' }),
  };
}

/** Sent only for a configured namespace: community editions reject the header. Vault tells its health outside of namespaces alone. */
function namespaceHeader({ path }: Operation, { kind, flavor, namespace }: Target): Record<string, string> {
  if (namespace === undefined || path.startsWith('/sys/health')) return {};
  const isHashicorp = flavor === 'hashicorp';
  if (kind === 'secrets') return { [isHashicorp ? 'X-Vault-Namespace' : 'X-Store-Namespace']: namespace };
  if (kind === 'mesh') return { [isHashicorp ? 'X-Consul-Namespace' : 'X-Mesh-Namespace']: namespace };
  return {};
}

/**
 * The permission that one request needs, with the path, namespace or service that it asks for: `read on consul/roles/web`, where
 * the declaration says `read on mesh/roles/{name}`.
 */
export function describePermission(operation: Operation, target: Target, args: Args): string {
  const { text, rights } = findPermission(operation, target.flavor);
  const granted = rights.flatMap((right) => (right.scope === 'path' ? [right.capability] : []));
  if (granted.length > 0) {
    const toName = (_: string, name: string) => String(args[name] ?? '');
    const path = applyMount(operation.path, target, args.mount).replaceAll(/\{([^}]+)\}/gu, toName);
    return stripControls(`${granted.join(', ')} on ${path.slice(1)}`);
  }
  if (rights.some(({ scope }) => scope === 'namespace')) {
    const [[, sent] = []] = namespaceQuery(operation, args, target);
    return stripControls(`${text} in namespace ${String(args.namespace ?? sent ?? 'default')}`);
  }
  if (operation.kind === 'mesh' && args.service !== undefined)
    return stripControls(`${text} on ${String(args.service)}`);
  return text;
}

/** Makes the redactor mask the secrets of a request. The service may repeat them in its error messages. */
export function collectSecrets(operation: Operation, args: Args, body: unknown, redactor: Redactor): void {
  const add = (secret: string) => redactor.add(secret);
  for (const [name, param] of Object.entries(operation.params)) {
    if (param.secret && args[name] !== undefined) collectTexts(args[name], add);
  }
  collectSecretFields(body, add);
}
