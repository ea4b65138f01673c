import type { Target } from '../../config/config.ts';
import type { Playbook } from '../../remediation/define.ts';
import { operations } from '../../services/index.ts';
import type { Operation } from '../../services/operation.ts';
import { type Right, requiredRights } from '../../services/rights.ts';
import { hasSource, type SourceDefinition } from '../../sources/source.ts';

/** A right, and the sources and playbooks that need it. */
export interface NeededRight {
  readonly right: Right;
  readonly neededBy: readonly string[];
}

/** The rights that one token of a target needs. */
export interface TokenRights {
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
    kind === 'write' ? [operation] : Object.values(reads).map((read) => read.operation),
  );
  return [...new Set(names)].flatMap((one) => {
    const operation = operations.get(one);
    return operation ? [{ by: name, operation }] : [];
  });
}

function mergeRights(target: Target, uses: readonly Use[]): readonly NeededRight[] {
  const merged = new Map<string, { readonly right: Right; readonly neededBy: Set<string> }>();
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
function includes(right: Right, other: Right): boolean {
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
