import type { Target } from '../config/config.ts';

/** A right that a token needs, in the terms of its service. */
export type Right =
  /** On the path of the operation. */
  | { readonly scope: 'path'; readonly capability: string }
  | { readonly scope: 'namespace'; readonly capability: string }
  | { readonly scope: 'plugin' | 'service'; readonly policy: string }
  /** Everything of a kind, such as all nodes. */
  | { readonly scope: 'prefix'; readonly kind: string; readonly policy: string }
  | { readonly scope: 'organization'; readonly access: keyof typeof ORGANIZATION_ACCESS }
  /** Only a token that may do everything has it. */
  | { readonly scope: 'management' }
  /** What a token may do without, as a rule of its service, and what only this right shows. */
  | { readonly scope: 'optional'; readonly rule: string; readonly shows: string }
  /** In words, as operations of plugins may declare it. */
  | { readonly scope: 'other'; readonly permission: string };

/** Names of the organization access of a team: in the API, and on the page of the team. */
export const ORGANIZATION_ACCESS = {
  'manage-agent-pools': 'Manage agent pools',
  'read-workspaces': 'View all workspaces',
} as const;

/** What a token needs: in words for people, and as the rights from which policies are made. */
export interface Permission {
  readonly text: string;
  readonly rights: readonly Right[];
}

export const NO_RIGHTS: Permission = { text: 'none', rights: [] };
export const ANY_TOKEN: Permission = { text: 'any token of the organization', rights: [] };

/** Capabilities on the path of an operation, as policies of a secrets server grant them. */
export function capabilities(...granted: readonly string[]) {
  const rights = granted.map((capability) => ({ scope: 'path', capability }) as const);
  return (path: string): Permission => ({ text: `${granted.join(', ')} on ${path.slice(1)}`, rights });
}

/** Rights, in the words of their service. */
export function permit(...rights: readonly Right[]): Permission {
  return { text: rights.map(describeRight).join(', '), rights };
}

function describeRight(right: Right): string {
  if (right.scope === 'namespace') return `namespace:${right.capability}`;
  if (right.scope === 'prefix') return `${right.kind}:${right.policy}`;
  return 'policy' in right ? `${right.scope}:${right.policy}` : right.scope;
}

/** The agent, which tells the version of the server. */
export function readAgent(block: string): Permission {
  const rule = `${block} { policy = "read" }`;
  return { text: 'agent:read', rights: [{ scope: 'optional', rule, shows: 'the version of the server' }] };
}

/** The permission that an operation needs with a flavor. */
export function findPermission(
  operation: { readonly permission: Permission | string; readonly hashicorpPermission?: Permission },
  flavor: Target['flavor'] = 'spec',
): Permission {
  const { permission, hashicorpPermission = permission } = operation;
  const declared = flavor === 'hashicorp' ? hashicorpPermission : permission;
  if (typeof declared !== 'string') return declared;
  return { text: declared, rights: declared === 'none' ? [] : [{ scope: 'other', permission: declared }] };
}
