import { uuid } from '../fixtures.ts';
import { createRandom } from '../prng.ts';
import { textResponse } from '../responses.ts';
import { createTokens, grantedAccess, readToken, type Tokens } from '../tokens.ts';
import type { Request, Resource, Response, Route, Service, ServiceOptions } from '../types.ts';
import { type Allocation, Allocations } from './allocations.ts';
import { SchedulerContext } from './context.ts';
import { ExternalVolumes } from './external-volumes.ts';
import { Plugins, type StoragePlugin } from './plugins.ts';
import { Policies, type Policy } from './policies.ts';
import { type SchedulerRecords, seedScheduler } from './seed.ts';
import { VolumeSnapshots } from './snapshots.ts';
import { tickScheduler } from './tick.ts';
import { VolumeWrites } from './volume-writes.ts';
import { type VolumeRecord, Volumes } from './volumes.ts';

/** The records of all resources. Tests read and damage them. */
export interface SchedulerState {
  /** The last Raft index. */
  index: number;
  readonly policies: Map<string, Policy>;
  readonly plugins: Map<string, StoragePlugin>;
  /** By `volumeKey`. */
  readonly volumes: Map<string, VolumeRecord>;
  readonly allocations: Map<string, Allocation>;
}

const NODES = 12;

/** The scheduler: ACL policies, volumes, and the content of its storage plugins. */
export class SchedulerService implements Service {
  readonly kind = 'scheduler';
  readonly base = '/v1';
  readonly error = textResponse;
  readonly state: SchedulerState;
  readonly routes: readonly Route[];
  readonly #options: ServiceOptions;
  readonly #tokens: Tokens;
  readonly #records: SchedulerRecords;

  constructor(options: ServiceOptions) {
    const { seed } = options;
    this.#options = options;
    this.#tokens = createTokens('scheduler', seed);
    const random = createRandom(`${seed}/scheduler/estate`);
    const nodes = Array.from({ length: NODES }, () => uuid(random));
    const context = new SchedulerContext(options, nodes);
    const policies = new Policies(context);
    const plugins = new Plugins(context);
    const allocations = new Allocations(context);
    const volumes = new Volumes(context, plugins, allocations);
    this.#records = { context, policies, plugins, allocations, volumes };
    seedScheduler(this.#records, options, random);
    this.state = {
      get index() {
        return context.index;
      },
      policies: policies.records,
      plugins: plugins.records,
      volumes: volumes.records,
      allocations: allocations.records,
    };
    const resources: readonly Resource[] = [
      policies,
      volumes,
      new VolumeWrites(context, plugins, allocations, volumes),
      new ExternalVolumes(context, plugins, allocations, volumes),
      new VolumeSnapshots(context, plugins, volumes),
    ];
    this.routes = resources.flatMap(({ routes }) => routes);
  }

  authenticate(request: Request, isWrite: boolean): Response | undefined {
    const token = readToken(request, 'x-nomad-token');
    const access = grantedAccess(token, this.#tokens);
    if (access === undefined && token !== undefined && this.#options.flavor === 'hashicorp') {
      return textResponse(403, 'ACL token not found');
    }
    const isPermitted = access === 'write' || (access === 'read' && !isWrite);
    return isPermitted ? undefined : textResponse(403, 'Permission denied');
  }

  tick(day: number, now: Date): void {
    const random = createRandom(`${this.#options.seed}/scheduler/night/${day}`);
    tickScheduler({ ...this.#records, day, now, random });
  }
}
