import type { Target } from '../config/config.ts';
import { stripControls } from '../core/log.ts';
import { applyMount } from './build-request.ts';
import type { Args, Operation } from './operation.ts';

/**
 * The permission that one request needs, with the path, namespace or service that it asks for: `read on consul/roles/web`, where
 * the declaration says `read on mesh/roles/{name}`.
 */
export function describePermission(operation: Operation, target: Target, args: Args): string {
  const { kind, path, permission, hashicorpPermission } = operation;
  const needed = target.flavor === 'hashicorp' ? (hashicorpPermission ?? permission) : permission;
  if (kind === 'secrets' && needed.includes(' on ')) {
    return `${needed.slice(0, needed.indexOf(' on '))} on ${fillNames(applyMount(path, target), args).slice(1)}`;
  }
  if (kind === 'scheduler' && needed.startsWith('namespace:')) {
    const namespace = args.namespace ?? target.namespace;
    const isEvery = namespace === '*' && operation.responseType !== 'array';
    const where = namespace === undefined || isEvery ? 'default' : String(namespace);
    return stripControls(`${needed} in namespace ${where}`);
  }
  if (kind === 'mesh' && args.service !== undefined) return stripControls(`${needed} on ${String(args.service)}`);
  return needed;
}

function fillNames(path: string, args: Args): string {
  return stripControls(path.replaceAll(/\{([^}]+)\}/gu, (_, name: string) => String(args[name] ?? '')));
}
