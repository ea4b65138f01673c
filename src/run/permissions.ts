import type { GuardRead, Playbook } from '../act/define.ts';
import type { Target } from '../config/config.ts';
import { groupBy } from '../core/group-by.ts';
import { hasSource, type SourceDefinition } from '../extract/sources/source.ts';
import { tokenOperations } from '../services/describe-server.ts';
import { policyPaths } from '../services/describe-token.ts';
import { operations } from '../services/index.ts';
import { parseService } from '../services/mesh.ts';
import type { Operation } from '../services/operation.ts';
import { findPermission, ORGANIZATION_ACCESS, type Right } from '../services/permission.ts';

/** A right, and the sources and playbooks that need it. */
type NeededRight = Readonly<ReturnType<typeof mergeRights>[number]>;

/** The rights that one token of a target needs. */
type TokenRights = Readonly<ReturnType<typeof collectRights>[number]>;

/**
 * The least rights for the sources of a target and for playbooks. A playbook reads with `token` and changes with `writeToken`, if
 * the target has one, or is to get one.
 */
export function collectRights(
  target: Target,
  sources: readonly SourceDefinition[],
  playbooks: readonly Playbook[],
  hasWriter = target.writeToken !== undefined,
) {
  const own = sources.filter((source) => hasSource(target, source));
  /** Sources of plugins that do not declare their operations. */
  const unknown = own.filter(({ operations: called }) => called === undefined).map(({ name }) => name);
  const reads: readonly Use[] = [
    ...own.flatMap(({ name, operations: called = [] }) => called.map((operation) => ({ by: name, operation }))),
    ...playbooks.flatMap((playbook) =>
      findUses(playbook, ({ reads: guards }) => Object.values(guards).flatMap(toNames)),
    ),
  ];
  const writes = playbooks.flatMap((playbook) => findUses(playbook, ({ operation }) => [operation]));
  if (!hasWriter) {
    return [{ target, token: 'token' as const, rights: mergeRights(target, [...reads, ...writes]), unknown }];
  }
  // `doctor` asks each token of the real products what it is. In Vault, one without the policy `default` may not say.
  const describes = target.flavor === 'hashicorp' && writes.some(({ operation }) => operation.kind === target.kind);
  const asked = describes ? Object.values(tokenOperations).map((operation) => ({ by: 'doctor', operation })) : [];
  const writing = mergeRights(target, [...writes, ...asked]);
  return [
    { target, token: 'token' as const, rights: mergeRights(target, reads), unknown },
    ...(writing.length === 0 ? [] : [{ target, token: 'writeToken' as const, rights: writing, unknown: [] }]),
  ];
}

type Use = ReturnType<typeof findUses>[number];

function findUses({ name, actions }: Playbook, list: (action: Playbook['actions'][number]) => readonly string[]) {
  return [...new Set(actions.flatMap(list))].flatMap((called) => {
    const operation = operations.get(called);
    return operation ? [{ by: name, operation }] : [];
  });
}

/** The operations of a read, and of the list that proves that its subject is gone. */
function toNames({ operation, absence }: GuardRead): readonly string[] {
  return absence?.list ? [operation, absence.list.operation] : [operation];
}

/** The rights that operations need. What another right includes is left out: that one is then needed for it as well. */
function mergeRights(target: Target, uses: readonly Use[]) {
  const own = uses.filter(({ operation }) => operation.kind === target.kind);
  const rights = own.flatMap(({ by, operation }) => requiredRights(operation, target).map((right) => ({ right, by })));
  const needed = [...groupBy(rights, ({ right }) => JSON.stringify(right)).values()].map((same) => {
    return { right: same[0].right, neededBy: same.map(({ by }) => by) };
  });
  const kept = needed.filter(({ right }) => !needed.some((other) => includes(target, other.right, right)));
  return kept.map((one) => {
    const weaker = needed.filter((other) => includes(target, one.right, other.right));
    return { right: one.right, neededBy: listUsers([one, ...weaker]) };
  });
}

function listUsers(needed: readonly { readonly neededBy: readonly string[] }[]): readonly string[] {
  return [...new Set(needed.flatMap(({ neededBy }) => neededBy))];
}

const POLICIES = ['list', 'read', 'write'];
/** Each includes those before it: who may mount a volume in the real product may read it and list it. */
const STRENGTHS: Partial<Record<Right['scope'], readonly string[]>> = {
  namespace: ['csi-list-volume', 'csi-read-volume', 'csi-mount-volume'],
  plugin: POLICIES,
  service: POLICIES,
};

/** Whether a right includes another one, and is not the same. */
function includes({ flavor }: Target, right: TargetRight, other: TargetRight): boolean {
  if (right.scope === 'namespace' && flavor !== 'hashicorp') return false; // the API documents name one capability for each operation
  const order = STRENGTHS[right.scope] ?? [];
  const [strong = -1, weak = -1] = [right, other].map((one) => {
    if ('policy' in one) return order.indexOf(one.policy);
    return 'capability' in one ? order.indexOf(one.capability) : -1;
  });
  return right.scope === other.scope && weak >= 0 && strong > weak;
}

/** The rights of a token in the language of its service, ready to use. */
export type PermissionText = Readonly<ReturnType<typeof formatPermissions>>;

export function formatPermissions(needed: TokenRights) {
  const { target, token, rights, unknown } = needed;
  const granted = [
    ...describeScope(rights, 'management', (_, users) => [
      `# no policy grants ${users}: use a token of type management, or leave it out`,
    ]),
    ...grantCapabilities(needed),
    ...describeScope(rights, 'plugin', ({ policy }, users) => [
      `# ${users}`,
      ...block('plugin', `policy = "${policy}"`),
    ]),
    ...rights.flatMap((one) => grantServices(one, target)),
    ...describeScope(rights, 'organization', ({ access }, users) => [
      `# ${users}`,
      `${access}  (${ORGANIZATION_ACCESS[access]})`,
    ]),
  ];
  const lines = [
    ...(granted.length === 0 ? ['# no rights are needed'] : granted),
    ...describeScope(rights, 'optional', ({ shows, rule }, users) => [`# ${users}, optional: ${shows}`, `# ${rule}`]),
    ...describeScope(rights, 'other', ({ permission }, users) => [`# ${users}: add the permission "${permission}"`]),
    ...unknown.map((name) => `# unknown: the source ${name} does not declare its operations`),
  ];
  return {
    target: target.name,
    kind: target.kind,
    token,
    /** What to do with the text, such as `vault policy write tidemark FILE`. */
    usage: describeUsage(target, token),
    /** HCL, or lines for the platform; comments say what needs each right. */
    text: `${lines.join('\n')}\n`,
  };
}

function describeUsage({ kind, namespace, organization }: Target, token: TokenRights['token']): string {
  // A policy for each token: applied under one name, the second would replace the first.
  const name = token === 'token' ? 'tidemark' : 'tidemark-write';
  const usages: Readonly<Record<Target['kind'], string>> = {
    secrets: `vault policy write${namespace === undefined ? '' : ` -namespace=${namespace}`} ${name} FILE`,
    scheduler: `nomad acl policy apply ${name} FILE`,
    mesh: `consul acl policy create -name ${name} -rules @FILE`,
    platform: `organization access of the team that the token belongs to, in ${organization}`,
    autoscaler: 'the service takes no token',
    registry: 'a public registry takes no token',
  };
  return usages[kind];
}

function describeScope<S extends Right['scope']>(
  rights: readonly NeededRight[],
  scope: S,
  toLines: (right: Extract<TargetRight, { readonly scope: S }>, users: string) => readonly string[],
): readonly string[] {
  return rights.flatMap(({ right, neededBy }) =>
    right.scope === scope ? toLines(right as Extract<TargetRight, { readonly scope: S }>, neededBy.join(', ')) : [],
  );
}

/** A block of HCL. */
function block(head: string, ...lines: readonly string[]): readonly string[] {
  return [`${head} {`, ...lines.map((line) => `  ${line}`), '}'];
}

/** A block for each path and namespace, with all capabilities that rights have there. */
function grantCapabilities({ rights, target }: TokenRights): readonly string[] {
  const own = rights.filter(({ right: { scope } }) => scope === 'path' || scope === 'namespace');
  const toHead = ({ right }: NeededRight) =>
    'path' in right ? `path "${right.path}"` : `namespace "${target.namespace ?? 'default'}"`;
  return [...groupBy(own, toHead)].flatMap(([head, same]) => {
    const names = new Set(same.flatMap(({ right }) => ('capability' in right ? `"${right.capability}"` : [])));
    const line = `capabilities = [${[...names].sort().join(', ')}]`;
    return [`# ${listUsers(same).join(', ')}`, ...block(head, line)];
  });
}

/** Rules of Consul, for each service of the target; those of a namespace, which the enterprise edition has, are within it. */
function grantServices({ right, neededBy }: NeededRight, { services }: Target): readonly string[] {
  if (services.length === 0 || (right.scope !== 'prefix' && right.scope !== 'service')) return [];
  const rules = services.map(parseService).map(({ ns, service }) => {
    const head = right.scope === 'prefix' ? `${right.kind} ""` : `service ${JSON.stringify(service)}`;
    const rule = block(head, `policy = "${right.policy}"`);
    return ns === undefined ? rule : block(`namespace ${JSON.stringify(ns)}`, ...rule);
  });
  return [`# ${neededBy.join(', ')}`, ...new Set(rules.map((rule) => rule.join('\n')))];
}

/** A right of a target: that on a path names the path. */
type TargetRight =
  | Exclude<Right, { readonly scope: 'path' }>
  | (Right & { readonly scope: 'path'; readonly path: string });

export function requiredRights(operation: Operation, target: Target): readonly TargetRight[] {
  return findPermission(operation, target.flavor).rights.flatMap((right): readonly TargetRight[] =>
    right.scope === 'path' ? grantedPaths(operation, target).map((path) => ({ ...right, path })) : [right],
  );
}

/** A pattern grants a list only with a slash at its end: docs/services/secrets.md#listing. */
function grantedPaths({ path, method }: Operation, target: Target): readonly string[] {
  return policyPaths(path, target).map((one) => (method === 'LIST' && one.includes('+') ? `${one}/` : one));
}
