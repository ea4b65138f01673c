import { z } from 'zod';
import { meshMounts } from '../../config/config.ts';
import { canonicalJson } from '../../core/canonical-json.ts';
import { isObject, valueAt } from '../../core/json-path.ts';
import { ROLE_GRANTS } from '../../services/secrets/bodies.ts';
import { secrets } from '../../services/secrets/operations.ts';
import { defineAction, definePlaybook, drifted, type JsonValue, ready, satisfied, skip, unknown } from '../define.ts';
import { readSubject, responseBody } from './lib/reads.ts';

type Role = Readonly<Record<string, JsonValue>>;

/** `mount`: null in a plan of before there were several: the only mount. */
const detail = z.object({ role_name: z.string(), mount: z.string().nullable().default(null) });
/** `role`: as read when the plan was made. */
const inputs = detail.extend({ role: z.record(z.string(), z.json() as z.ZodType<JsonValue>) });

/** Names and ID of the mesh's built-in policy that grants everything. Its tokens are management tokens whatever the role's type. */
const MANAGEMENT_POLICIES = ['global-management', '00000000-0000-0000-0000-000000000001'];

const isSet = (value: JsonValue | undefined): boolean =>
  ![undefined, null, '', 0, '0s'].includes(value as string) && !(Array.isArray(value) && value.length === 0);

/**
 * A write replaces the whole role, so every field that is set is sent again: docs/services/secrets.md#mesh-roles. `lease` is the name of
 * `ttl` before mesh version 1.4, and is not accepted together with the newer fields.
 */
function buildRoleBody({ lease, name: _, ...fields }: Role): Role {
  const kept = Object.entries(fields).filter(([, value]) => isSet(value));
  const ttl = isSet(fields.ttl) || lease === undefined || !isSet(lease) ? {} : { ttl: lease };
  return { ...Object.fromEntries(kept), ...ttl, token_type: 'client' };
}

/** The product returns a list; older versions return text with commas. */
function grantsEverything({ policies, consul_policies }: Role): boolean {
  const names = [policies, consul_policies].flatMap((value) =>
    typeof value === 'string' ? value.split(',') : (value ?? []),
  );
  return names.some((name) => MANAGEMENT_POLICIES.includes(String(name).trim().toLowerCase()));
}

function parseRole(body: unknown): Role | null {
  const data = valueAt(body, 'data');
  return isObject(data) ? (data as Role) : null;
}

const ROLE = { name: 'role_name', mount: 'mount' };

const downgrade = defineAction(inputs, {
  operation: 'secrets.mesh-roles.write',
  params: ROLE,
  body: ({ role }) => buildRoleBody(role),
  change: ({ role }) => {
    const after = buildRoleBody(role);
    return { before: { ...after, token_type: role.token_type }, after };
  },
  reads: { role: readSubject('secrets.mesh-roles.read', ROLE, 'mesh_roles.name', { of: { mount: 'mount' } }) },
  observe: ({ role }) => parseRole(responseBody(role)),
  evaluate: (observed, { role }) => {
    if (observed === null) return drifted('the role is gone');
    if (!isSet(observed.token_type)) return unknown('the type of its tokens is not reported');
    // The other fields are not compared: after a write, services return the lease of a role under either of its names.
    if (observed.token_type === 'client') return satisfied('its tokens are client tokens');
    if (canonicalJson(observed) !== canonicalJson(role)) return drifted('the role was changed');
    const isKnown = String(observed.token_type).toLowerCase() === 'management';
    return isKnown ? ready : unknown(`the type of its tokens is ${observed.token_type}, which is not known`);
  },
});

export const downgradeManagementRoles = definePlaybook({
  name: 'downgrade-management-roles',
  rule: 'management-role',
  description: 'change mesh roles to issue client tokens with their own policy instead of management tokens',
  table: 'mesh_roles',
  actions: [downgrade],
  detail,
  plan: async ({ detail: { role_name, mount: known } }, ctx) => {
    const mounts = meshMounts(ctx.target);
    const mount = known ?? (mounts.length === 1 ? mounts[0] : undefined);
    if (mount === undefined || !mounts.includes(mount)) return skip('its mount is not one of the target: pull first');
    const role = parseRole(responseBody(await ctx.read(secrets['mesh-roles'].read, { name: role_name, mount })));
    if (role === null) return skip('the role is gone');
    if (grantsEverything(role)) {
      return skip(
        'its policy global-management makes every token a management token: replace it by narrower policies first',
      );
    }
    if (!ROLE_GRANTS.some((name) => isSet(role[name]))) {
      return skip('the role names no policy, so its client tokens would have no rights: give it a policy first');
    }
    const where = mounts.length > 1 ? ` of mount ${mount}` : '';
    const summary = `change mesh role ${role_name}${where} to issue client tokens; its other fields stay`;
    return [{ action: downgrade, inputs: { role_name, mount, role }, summary }];
  },
});
