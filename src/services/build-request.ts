import { stringify } from 'lossless-json';
import type { Target } from '../config/config.ts';
import type { HttpRequest } from '../http/client.ts';
import type { Args, Operation, RequestDraft } from './operation.ts';
import { isRawFilter } from './platform/explorer-filters.ts';

export interface RequestParts {
  readonly args: Args;
  readonly body: unknown;
  /** Use the target's `writeToken`, if it has one. */
  readonly write: boolean;
  /** `otherPath` of the operation instead of its path. */
  readonly useFallbackPath?: boolean;
  /** Query pairs that paging adds. */
  readonly extra?: readonly (readonly [string, string])[];
}

const JSON_API = 'application/vnd.api+json';

/** The request an operation becomes on a target; the arguments are checked already. */
export function buildRequest(operation: Operation, target: Target, parts: RequestParts): HttpRequest {
  const plain: RequestDraft = {
    path: fillPath(
      applyMount((parts.useFallbackPath && operation.fallbackPath) || operation.path, target),
      parts.args,
      target,
    ),
    query: [...buildQuery(operation, parts.args, target), ...namespaceQuery(operation, parts.args, target)],
    headers: {},
    body: parts.body,
  };
  const draft = target.flavor === 'hashicorp' ? (operation.hashicorp?.(plain, parts.args) ?? plain) : plain;
  const replaced = new Set(parts.extra?.map(([name]) => name));
  const query = [...draft.query.filter(([name]) => !replaced.has(name)), ...(parts.extra ?? [])];
  const search = query.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&');
  const body = draft.body === undefined ? undefined : stringify(draft.body);
  return {
    operation: operation.name,
    method: operation.method,
    url: new URL(`${target.url}${draft.path}${search === '' ? '' : `?${search}`}`),
    headers: { ...buildHeaders(operation, target, parts.write, body !== undefined), ...draft.headers },
    body,
    retryPolicy: operation.retryPolicy,
  };
}

/** Engines may be mounted elsewhere: the first segment of a secrets path is the default mount (secrets.md, Conventions). */
function applyMount(path: string, { kind, mounts }: Target): string {
  if (kind !== 'secrets') return path;
  return path.replace(/^\/(keymgmt|mesh)(?=\/)/u, (_, mount: 'keymgmt' | 'mesh') => `/${mounts[mount]}`);
}

function fillPath(path: string, args: Args, target: Target): string {
  return path.replaceAll(/\{([^}]+)\}/gu, (_, name: string) =>
    encodeURIComponent(String(name === 'organization_name' ? (target.organization ?? '') : args[name])),
  );
}

function buildQuery(operation: Operation, args: Args, target: Target): (readonly [string, string])[] {
  const special = operation.encodeQuery?.(args, target) ?? [];
  const done = new Set(operation.encodeQuery ? ['type', 'filter', 'sort', 'fields'] : []);
  const plain = Object.entries(args).flatMap(([name, value]): (readonly [string, string])[] => {
    if (value === undefined || done.has(name) || (operation.encodeQuery && isRawFilter(name))) return [];
    if (operation.params[name]?.in !== 'query') return [];
    return [[name, [value].flat().map(String).join(',')]];
  });
  return [...special, ...plain];
}

/** The target's namespace for operations that take one; `*` reads all namespaces, and only lists can. */
function namespaceQuery(operation: Operation, args: Args, { kind, namespace }: Target): (readonly [string, string])[] {
  if (kind !== 'scheduler' || namespace === undefined || args.namespace !== undefined) return [];
  if (operation.params.namespace === undefined) return [];
  return namespace === '*' && operation.responseType !== 'array' ? [] : [['namespace', namespace]];
}

function buildHeaders(operation: Operation, target: Target, write: boolean, hasBody: boolean): Record<string, string> {
  const token = (write ? target.writeToken : undefined) ?? target.token;
  const jsonApi = target.kind === 'platform' && operation.responseType !== 'csv';
  return {
    'User-Agent': 'tidemark',
    Accept: jsonApi ? JSON_API : operation.responseType === 'csv' ? '*/*' : 'application/json',
    ...(jsonApi && { 'Content-Type': JSON_API }),
    ...(hasBody && !jsonApi && { 'Content-Type': 'application/json' }),
    ...(token !== undefined && tokenHeader(target.tokenHeader, token)),
    ...namespaceHeader(target),
    // Vault's agent and proxy may demand it, against forged requests of browsers (live-services.md B1).
    ...(target.kind === 'secrets' && target.flavor === 'hashicorp' && { 'X-Vault-Request': 'true' }),
  };
}

function tokenHeader(name: string, token: string): Record<string, string> {
  return { [name]: name.toLowerCase() === 'authorization' ? `Bearer ${token}` : token };
}

/** Sent only when set: community editions refuse the header (live-services.md D). */
function namespaceHeader({ kind, flavor, namespace }: Target): Record<string, string> {
  if (namespace === undefined) return {};
  const hashicorp = flavor === 'hashicorp';
  if (kind === 'secrets') return { [hashicorp ? 'X-Vault-Namespace' : 'X-Store-Namespace']: namespace };
  if (kind === 'mesh') return { [hashicorp ? 'X-Consul-Namespace' : 'X-Mesh-Namespace']: namespace };
  return {};
}
