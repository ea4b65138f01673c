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
  | { readonly scope: 'management' }
  /** A permission in another form, as operations of plugins may declare it. */
  | { readonly scope: 'other'; readonly permission: string };

/** What the organization access of a team is called in the API and on the page of the team. */
export const ORGANIZATION_ACCESS = {
  'manage-agent-pools': 'Manage agent pools',
  'read-workspaces': 'View all workspaces',
} as const;
export type OrganizationAccess = keyof typeof ORGANIZATION_ACCESS;

/** Permissions that every valid token has. */
const FREE = ['none', 'any token of the organization'];

/** The rights that an operation needs, from its declared permission. */
export function requiredRights(operation: Operation, target: Target): readonly Right[] {
  const { kind, path, permission, hashicorpPermission } = operation;
  const declared = target.flavor === 'hashicorp' ? (hashicorpPermission ?? permission) : permission;
  if (FREE.includes(declared)) return [];
  if (kind === 'platform') return [parseAccess(declared)];
  if (kind === 'secrets') {
    const [capabilities = ''] = declared.split(' on ');
    return capabilities
      .split(', ')
      .map((capability) => ({ scope: 'path', path: policyPath(path, target), capability }));
  }
  const [needed = ''] = declared.split(/;|, or /u); // what follows is another way, or an explanation
  return needed.split(', ').map(parseClause);
}

function parseAccess(permission: string): Right {
  if (/agent pools/u.test(permission)) return { scope: 'organization', access: 'manage-agent-pools' };
  if (/workspaces/u.test(permission)) return { scope: 'organization', access: 'read-workspaces' };
  return { scope: 'other', permission };
}

/** `namespace:csi-list-volume`, `plugin:read`, `service:write`, `management`. */
function parseClause(clause: string): Right {
  if (clause === 'management') return { scope: 'management' };
  const [scope, value = ''] = clause.split(':');
  if (scope === 'namespace' && value !== '') return { scope, capability: value };
  if ((scope === 'plugin' || scope === 'service') && value !== '') return { scope, policy: value };
  return { scope: 'other', permission: clause };
}
