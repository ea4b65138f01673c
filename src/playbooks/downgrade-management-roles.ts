import { z } from 'zod';
import { secrets } from '../services/secrets.ts';
import { at, bodyOf } from './answers.ts';
import { playbook, skip } from './playbook.ts';
import { type Json, step } from './step.ts';
import { changed, done, due } from './verdict.ts';

type Role = Readonly<Record<string, Json>>;

const facts = z.object({
  role_name: z.string(),
  /** As read when the plan was made. */
  role: z.record(z.string(), z.json()),
});

/** What a role's tokens may do (secrets.md, "Mesh role"; live-services.md B3 for the rest). */
const RIGHTS = ['policy', 'policies', 'consul_policies', 'consul_roles', 'service_identities', 'node_identities'];
/** What `lease` is called from mesh version 1.4 on, where it does not go with the other fields (live-services.md B3). */
const OLD_NAME_OF_TTL = 'lease';

const isSet = (value: Json | undefined): boolean =>
  value !== undefined && value !== null && value !== '' && value !== 0 && value !== '0s' && !isEmptyList(value);

const isEmptyList = (value: Json): boolean => Array.isArray(value) && value.length === 0;

/** A write replaces the whole role (live-services.md B3): every field that is set goes with it. */
function bodyFor(role: Role): Role {
  const { [OLD_NAME_OF_TTL]: lease, ...fields } = role;
  const kept = Object.entries(fields).filter(([name, value]) => name !== 'name' && isSet(value));
  const ttl = isSet(role.ttl) || !isSet(lease) ? {} : { ttl: lease as Json };
  return { ...Object.fromEntries(kept), ...ttl, token_type: 'client' };
}

const roleIn = (body: unknown): Role | null => {
  const data = at(body, 'data');
  return typeof data === 'object' && data !== null ? (data as Role) : null;
};

const withoutType = ({ token_type: _, ...rest }: Role) =>
  JSON.stringify(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1)));

const downgrade = step(facts, {
  operation: 'secrets.mesh-roles.write',
  params: { name: 'role_name' },
  body: ({ role }) => bodyFor(role as Role),
  reads: { role: { operation: 'secrets.mesh-roles.read', params: { name: 'role_name' } } },
  see: ({ role }) => roleIn(bodyOf(role)),
  judge: (seen, { role }) => {
    if (seen === null) return changed('the role is gone');
    // Whatever else differs: services show a role's lease under one name or the other once it was written.
    if (seen.token_type === 'client') return done('its tokens are client tokens');
    return withoutType(seen) === withoutType(role as Role) ? due : changed('the role was changed otherwise');
  },
});

export const downgradeManagementRoles = playbook({
  name: 'downgrade-management-roles',
  rule: 'management-role',
  about: 'let mesh roles hand out client tokens with their own policy, instead of management tokens',
  table: 'mesh_roles',
  steps: [downgrade],
  detail: z.object({ role_name: z.string() }),
  plan: async ({ detail: { role_name } }, desk) => {
    const role = roleIn(bodyOf(await desk.ask(secrets['mesh-roles'].read, { name: role_name })));
    if (role === null) return skip('the role is gone');
    if (!RIGHTS.some((name) => isSet(role[name]))) {
      return skip('the role names no policy, without which a client token could do nothing: give it one first');
    }
    const summary = `let mesh role ${role_name} hand out client tokens; its other fields stay`;
    return [{ step: downgrade, facts: { role_name, role }, summary }];
  },
});
