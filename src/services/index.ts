import { autoscaler } from './autoscaler.ts';
import { mesh } from './mesh.ts';
import type { Operation } from './operation.ts';
import { platform } from './platform/operations.ts';
import { scheduler } from './scheduler/operations.ts';
import { secrets } from './secrets/operations.ts';

export { autoscaler, mesh, platform, scheduler, secrets };

type Resources = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

const resources: readonly Resources[] = [platform, secrets, autoscaler, scheduler, mesh];

/** All 58 operations by name, in the documents' order. */
export const operations: ReadonlyMap<string, Operation> = new Map(
  resources.flatMap((kind) =>
    Object.values(kind).flatMap((verbs) =>
      Object.values(verbs).map((operation) => [operation.name, operation] as const),
    ),
  ),
);
