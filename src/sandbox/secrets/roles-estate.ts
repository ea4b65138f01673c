import { sized } from '../forge.ts';
import type { Random } from '../prng.ts';
import type { Role } from './state.ts';

/** A role of the invented estate; `policy` in plain text is stored as Base64. */
export function role(
  tokenType: string,
  policy: string | undefined,
  ttlSeconds: number,
  policies: readonly string[] = [],
): Role {
  return {
    tokenType,
    ...(policy === undefined ? {} : { policy: Buffer.from(policy).toString('base64') }),
    policies,
    local: false,
    ttlSeconds,
    maxTtlSeconds: ttlSeconds * 4,
  };
}

const reads = (prefix: string): string => `key_prefix "${prefix}" {\n  policy = "read"\n}\n`;

const PLANNED: readonly (readonly [name: string, role: Role])[] = [
  ['web-read', role('client', reads('web/'), 3600)],
  ['api-write', role('client', 'service "api" {\n  policy = "write"\n}\n', 1800)],
  ['billing', role('client', reads('billing/'), 0)],
  ['deploy', role('client', undefined, 900, ['deploy', 'node-read'])],
  ['legacy-admin', role('management', reads(''), 86_400)],
  ['terraform', role('management', undefined, 0)],
  ['observability', role('client', 'service_prefix "" {\n  policy = "read"\n}\n', 3600)],
  [`équipe "réseau", <i>été<i>`, role('client', reads('=cmd|'), 5400)],
  ['網路-唯讀', role('client', reads('網路/'), 7200)],
];

/** About ten roles at scale 1, two of them of the management type. */
export function inventRoles(random: Random, scale: number): Map<string, Role> {
  const roles = new Map<string, Role>(PLANNED.map(([name, planned]) => [name, { ...planned }]));
  for (let index = 1; roles.size < sized(10, scale); index++) {
    roles.set(`team-${index}`, role('client', reads(`team-${index}/`), random.int(1, 24) * 1800));
  }
  return roles;
}
