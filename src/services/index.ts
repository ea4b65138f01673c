import { autoscaler } from './autoscaler.ts';
import { mesh } from './mesh.ts';
import type { Operation } from './operation.ts';
import { platform } from './platform/operations.ts';
import { registry } from './registry.ts';
import { scheduler } from './scheduler/operations.ts';
import { secrets } from './secrets/operations.ts';

export { autoscaler, mesh, platform, registry, scheduler, secrets };

/** The operations of each kind of target, by resource and verb. */
export const resources = { platform, secrets, autoscaler, scheduler, mesh, registry } as const;

type Resources = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

const all = Object.values<Resources>(resources).flatMap((kind) =>
  Object.values(kind).flatMap(Object.values<Operation>),
);

export const operations: ReadonlyMap<string, Operation> = new Map(all.map((operation) => [operation.name, operation]));
