import type { GuardRead, Playbook } from '../act/define.ts';
import type { Target } from '../config/config.ts';
import { hasSource, type SourceDefinition } from '../extract/sources/source.ts';
import { operations } from '../services/index.ts';
import { parseService } from '../services/mesh.ts';
import type { Operation } from '../services/operation.ts';
import { findPermission, ORGANIZATION_ACCESS, type Right } from '../services/permission.ts';
import { policyPaths } from '../services/token/describe-token.ts';

/** A right, and the sources and playbooks that need it. */
interface NeededRight {
  readonly right: TargetRight;
  readonly neededBy: readonly string[];
}

/** The rights that one token of a target needs. */
interface TokenRights {
  readonly target: Target;
  /** `token` reads; `writeToken` applies the actions of playbooks. */
  readonly token: 'token' | 'writeToken';
  readonly rights: readonly NeededRight[];
  /** Sources of plugins that do not declare their operations. */
  readonly unknown: readonly string[];
}

/**
 * The least rights for the sources of a target and for playbooks. A playbook reads with `token` and changes with `writeToken`, if
 * the target has one.
 */
export function collectRights(
  target: Target,
  sources: readonly SourceDefinition[],
  playbooks: readonly Playbook[],
): readonly TokenRights[] {
  const own = sources.filter((source) => hasSource(target, source));
  const uses = own.flatMap(({ name, operations: called = [] }) => called.map((operation) => ({ by: name, operation })));
  const reads = playbooks.flatMap((playbook) => playbookOperations(playbook, 'read'));
  const writes = playbooks.flatMap((playbook) => playbookOperations(playbook, 'write'));
  const unknown = own.filter(({ operations: called }) => called === undefined).map(({ name }) => name);
  const common = { target, unknown };
  if (target.writeToken === undefined) {
    return [{ ...common, token: 'token', rights: mergeRights(target, [...uses, ...reads, ...writes]) }];
  }
  const writing = mergeRights(target, writes);
  return [
    { ...common, token: 'token', rights: mergeRights(target, [...uses, ...reads]) },
    ...(writing.length === 0 ? [] : [{ ...common, token: 'writeToken' as const, rights: writing, unknown: [] }]),
  ];
}

interface Use {
  readonly by: string;
  readonly operation: Operation;
}

function playbookOperations({ name, actions }: Playbook, kind: 'read' | 'write'): readonly Use[] {
  const names = actions.flatMap(({ operation, reads }) =>
    kind === 'write' ? [operation] : Object.values(reads).flatMap(guardOperations),
  );
  return [...new Set(names)].flatMap((one) => {
    const operation = operations.get(one);
    return operation ? [{ by: name, operation }] : [];
  });
}

/** A read, and the list that proves that its subject is gone. */
function guardOperations({ operation, absence }: GuardRead): readonly string[] {
  return absence?.list ? [operation, absence.list.operation] : [operation];
}

function mergeRights(target: Target, uses: readonly Use[]): readonly NeededRight[] {
  const merged = new Map<string, { readonly right: TargetRight; readonly neededBy: Set<string> }>();
  for (const { by, operation } of uses.filter((use) => use.operation.kind === target.kind)) {
    for (const right of requiredRights(operation, target)) {
      const key = JSON.stringify(right);
      const entry = merged.get(key) ?? { right, neededBy: new Set() };
      entry.neededBy.add(by);
      merged.set(key, entry);
    }
  }
  return dropImplied([...merged.values()].map(({ right, neededBy }) => ({ right, neededBy: [...neededBy] })));
}

/** What another right already includes: Nomad's `csi-mount-volume` reads and lists volumes, `csi-read-volume` lists them. */
const IMPLIED_BY: Readonly<Record<string, readonly string[]>> = {
  'csi-list-volume': ['csi-read-volume', 'csi-mount-volume'],
  'csi-read-volume': ['csi-mount-volume'],
};

/** Leaves out what another right includes, which is then needed by the same sources as well. */
function dropImplied(needed: readonly NeededRight[]): readonly NeededRight[] {
  const kept = needed.filter(({ right }) => !needed.some((other) => includes(other.right, right)));
  return kept.map(({ right, neededBy }) => {
    const weaker = needed.filter((other) => includes(right, other.right)).flatMap((other) => other.neededBy);
    return { right, neededBy: [...new Set([...neededBy, ...weaker])] };
  });
}

/** Whether a right includes another one, and is not the same. */
function includes(right: TargetRight, other: TargetRight): boolean {
  if (right.scope === 'namespace' && other.scope === 'namespace') {
    return (IMPLIED_BY[other.capability] ?? []).includes(right.capability);
  }
  const isPolicy = right.scope === 'plugin' || right.scope === 'service';
  return isPolicy && other.scope === right.scope && isStronger(right.policy, other.policy);
}

const POLICIES = ['list', 'read', 'write'];

function isStronger(policy: string, than: string): boolean {
  return POLICIES.indexOf(policy) > POLICIES.indexOf(than);
}

/** The rights of a token in the language of its service, ready to use. */
export interface PermissionText {
  readonly target: string;
  readonly kind: string;
  readonly token: 'token' | 'writeToken';
  /** What to do with the text, such as `vault policy write tidemark FILE`. */
  readonly usage: string;
  /** HCL, or lines for the platform; comments say what needs each right. */
  readonly text: string;
}

export function formatPermissions(needed: TokenRights): PermissionText {
  const { target, token, rights } = needed;
  const { usage, lines } = FORMATS[target.kind](needed);
  const notes = [
    ...ofScope(rights, 'optional').map(
      ({ right, neededBy }) => `# ${neededBy.join(', ')}, optional: ${right.shows}\n# ${right.rule}`,
    ),
    ...ofScope(rights, 'other').map(
      ({ right, neededBy }) => `# ${neededBy.join(', ')}: add the permission "${right.permission}"`,
    ),
    ...needed.unknown.map((name) => `# unknown: the source ${name} does not declare its operations`),
  ];
  const text = [...(lines.length === 0 ? ['# no rights are needed'] : lines), ...notes].join('\n');
  return { target: target.name, kind: target.kind, token, usage, text: `${text}\n` };
}

interface Format {
  readonly usage: string;
  readonly lines: readonly string[];
}

const FORMATS: Readonly<Record<TokenRights['target']['kind'], (needed: TokenRights) => Format>> = {
  secrets: formatVaultPolicy,
  scheduler: formatNomadPolicy,
  mesh: formatConsulRules,
  platform: formatTeamAccess,
  autoscaler: () => ({ usage: 'the service takes no token', lines: [] }),
  registry: () => ({ usage: 'a public registry takes no token', lines: [] }),
};

type Scope = TargetRight['scope'];
type RightOf<S, R = TargetRight> = R extends TargetRight ? (S extends R['scope'] ? R : never) : never;
type NeededOf<S extends Scope> = NeededRight & { readonly right: RightOf<S> };

function ofScope<S extends Scope>(rights: readonly NeededRight[], scope: S): readonly NeededOf<S>[] {
  return rights.filter((needed): needed is NeededOf<S> => needed.right.scope === scope);
}

function reason(needed: readonly Pick<NeededRight, 'neededBy'>[]): string {
  return `# ${[...new Set(needed.flatMap(({ neededBy }) => neededBy))].join(', ')}`;
}

/** A block of HCL. */
function block(head: string, field: string): readonly string[] {
  return [`${head} {`, `  ${field}`, '}'];
}

/** Rules of a namespace, which the enterprise edition has. */
function nest(head: string, lines: readonly string[]): readonly string[] {
  return [`${head} {`, ...lines.map((line) => `  ${line}`), '}'];
}

function formatCapabilities(needed: readonly { readonly right: { readonly capability: string } }[]): string {
  const names = new Set(needed.map(({ right }) => right.capability));
  return `capabilities = [${[...names]
    .sort()
    .map((name) => `"${name}"`)
    .join(', ')}]`;
}

/** A policy for each token: applied under one name, the second would replace the first. */
function policyName(token: TokenRights['token']): string {
  return token === 'token' ? 'tidemark' : 'tidemark-write';
}

function formatVaultPolicy({ rights, target, token }: TokenRights): Format {
  const needed = ofScope(rights, 'path');
  const paths = [...new Set(needed.map(({ right }) => right.path))];
  const lines = paths.flatMap((path) => {
    const same = needed.filter(({ right }) => right.path === path);
    return [reason(same), ...block(`path "${path}"`, formatCapabilities(same))];
  });
  const namespace = target.namespace === undefined ? '' : ` -namespace=${target.namespace}`;
  return { usage: `vault policy write${namespace} ${policyName(token)} FILE`, lines };
}

function formatNomadPolicy({ rights, target, token }: TokenRights): Format {
  const inNamespace = ofScope(rights, 'namespace');
  const lines = [
    ...ofScope(rights, 'management').map(
      ({ neededBy }) => `# no policy grants ${neededBy.join(', ')}: use a token of type management, or leave it out`,
    ),
    ...(inNamespace.length === 0
      ? []
      : [
          reason(inNamespace),
          ...block(`namespace "${target.namespace ?? 'default'}"`, formatCapabilities(inNamespace)),
        ]),
    ...ofScope(rights, 'plugin').flatMap((one) => [
      reason([one]),
      ...block('plugin', `policy = "${one.right.policy}"`),
    ]),
  ];
  return { usage: `nomad acl policy apply ${policyName(token)} FILE`, lines };
}

function formatConsulRules({ rights, target: { services }, token }: TokenRights): Format {
  const needed = services.length === 0 ? [] : rights;
  const lines = needed.flatMap(({ right, neededBy }) => {
    if (right.scope !== 'prefix' && right.scope !== 'service') return [];
    const lines = (head: string) => block(head, `policy = "${right.policy}"`);
    const rules = services.map(parseService).map(({ ns, service }) => {
      const rule = lines(right.scope === 'prefix' ? `${right.kind} ""` : `service ${JSON.stringify(service)}`);
      return ns === undefined ? rule : nest(`namespace ${JSON.stringify(ns)}`, rule);
    });
    return [reason([{ neededBy }]), ...new Set(rules.map((rule) => rule.join('\n')))];
  });
  return { usage: `consul acl policy create -name ${policyName(token)} -rules @FILE`, lines };
}

function formatTeamAccess({ rights, target }: TokenRights): Format {
  const lines = ofScope(rights, 'organization').flatMap((one) => [
    reason([one]),
    `${one.right.access}  (${ORGANIZATION_ACCESS[one.right.access]})`,
  ]);
  return { usage: `organization access of the team that the token belongs to, in ${target.organization}`, lines };
}

/** A right of a target: that on a path names the path. */
type TargetRight =
  | Exclude<Right, { readonly scope: 'path' }>
  | (Right & { readonly scope: 'path'; readonly path: string });

/** The rights that an operation needs. */
export function requiredRights(operation: Operation, target: Target): readonly TargetRight[] {
  const paths = () => policyPaths(operation.path, target);
  return findPermission(operation, target.flavor).rights.flatMap((right): readonly TargetRight[] =>
    right.scope === 'path' ? paths().map((path) => ({ ...right, path })) : [right],
  );
}
