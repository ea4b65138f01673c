import type { Target } from '../config/config.ts';
import type { Operation } from './operation.ts';
import { policyPath } from './token/describe-token.ts';

/** A right that a token needs, in the terms of its service. */
export type Right =
  | { readonly scope: 'path'; readonly path: string; readonly capability: string }
  | { readonly scope: 'namespace'; readonly capability: string }
  | { readonly scope: 'plugin'; readonly policy: string }
  | { readonly scope: 'service'; readonly policy: string }
  | { readonly scope: 'organization'; readonly access: OrganizationAccess }
  /** Only a token that may do everything has it. */
  | { readonly scope: 'management' };

/** What the organization access of a team is called in the API and on the page of the team. */
export const ORGANIZATION_ACCESS = {
  'manage-agent-pools': 'Manage agent pools',
  'read-workspaces': 'View all workspaces',
} as const;
export type OrganizationAccess = keyof typeof ORGANIZATION_ACCESS;

/** Permissions that every valid token has. */
const FREE = ['none', 'any token of the organization'];

/**
 * The rights that an operation needs, from its declared permission.
 * @throws Error for a permission that is not understood: a test holds that there is none
 */
export function requiredRights(operation: Operation, target: Target): readonly Right[] {
  const { kind, path, permission, hashicorpPermission } = operation;
  const declared = target.flavor === 'hashicorp' ? (hashicorpPermission ?? permission) : permission;
  if (FREE.includes(declared)) return [];
  if (kind === 'platform') return [{ scope: 'organization', access: organizationAccess(operation, declared) }];
  if (kind === 'secrets') {
    const [capabilities = ''] = declared.split(' on ');
    return capabilities
      .split(', ')
      .map((capability) => ({ scope: 'path', path: policyPath(path, target), capability }));
  }
  const [needed = ''] = declared.split(/;|, or /u); // what follows is another way, or an explanation
  return needed.split(', ').map((clause) => parseClause(operation, clause));
}

function organizationAccess({ name }: Operation, permission: string): OrganizationAccess {
  if (/agent pools/u.test(permission)) return 'manage-agent-pools';
  if (/reads? all workspaces|query of the view/u.test(permission)) return 'read-workspaces';
  throw new Error(`${name}: the permission "${permission}" is not understood`);
}

/** `namespace:csi-list-volume`, `plugin:read`, `service:write`, `management`. */
function parseClause({ name }: Operation, clause: string): Right {
  if (clause === 'management') return { scope: 'management' };
  const [scope, value = ''] = clause.split(':');
  if (scope === 'namespace' && value !== '') return { scope, capability: value };
  if ((scope === 'plugin' || scope === 'service') && value !== '') return { scope, policy: value };
  throw new Error(`${name}: the permission "${clause}" is not understood`);
}
