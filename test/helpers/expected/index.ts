import type { RunningSandbox } from '../../../sandbox/index.ts';
import type { Flavor } from '../../../sandbox/types.ts';
import { autoscalerTables } from './autoscaler.ts';
import { meshTables } from './mesh.ts';
import { platformTables } from './platform.ts';
import { registryTables } from './registry.ts';
import { schedulerTables } from './scheduler.ts';
import { secretsTables } from './secrets.ts';
import { tokenTables } from './tokens.ts';
import type { Tables } from './values.ts';

/** Every table as it must read after a pull of everything, from the sandbox's state alone: none of our SQL takes part. */
export function expectedTables(sandbox: RunningSandbox, flavor: Flavor): Tables {
  const { services, now } = sandbox;
  return {
    ...platformTables(services.platform.state, flavor),
    ...secretsTables(services.secrets.state, flavor),
    ...schedulerTables(services.scheduler.state, flavor),
    ...autoscalerTables(services.autoscaler.state, flavor, now),
    ...meshTables(services.mesh.state, flavor, now),
    ...tokenTables(sandbox, flavor),
    ...registryTables(services),
  };
}
