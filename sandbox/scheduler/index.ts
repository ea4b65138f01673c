import { createRandom, uuid } from '../random.ts';
import { textResponse } from '../responses.ts';
import { TokenStore } from '../tokens.ts';
import type { Request, Resource, Response, Route, Service, ServiceOptions, TokenGrant } from '../types.ts';
import { SchedulerAccess } from './access.ts';
import { type Allocation, Allocations } from './allocations.ts';
import { Cluster } from './cluster.ts';
import { SchedulerContext } from './context.ts';
import { Plugins, type StoragePlugin } from './plugins.ts';
import { Policies, type Policy } from './policies.ts';
import { SCHEDULER_ESTATES, type SchedulerRecords, seedScheduler } from './seed.ts';
import { ExternalVolumes, VolumeSnapshots } from './snapshots.ts';
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
  /** Whether detaching works with the flavor of the real products, which refuse it. */
  canDetach: boolean;
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
  readonly #tokens: TokenStore;
  readonly #access: SchedulerAccess;
  readonly #records: SchedulerRecords;

  constructor(options: ServiceOptions) {
    const { seed } = options;
    this.#options = options;
    this.#tokens = new TokenStore('scheduler', options, ['x-nomad-token']);
    const random = createRandom(`${seed}/scheduler/estate`);
    const nodes = Array.from({ length: NODES }, () => uuid(random));
    const context = new SchedulerContext(options, nodes);
    const policies = new Policies(context);
    this.#access = new SchedulerAccess(this.#tokens, context, policies.records);
    policies.isVisible = (request, name) => this.#access.seesPolicy(request, name);
    const plugins = new Plugins(context);
    const allocations = new Allocations(context);
    const volumes = new Volumes(context, plugins, allocations);
    this.#records = { context, policies, plugins, allocations, volumes, estate: SCHEDULER_ESTATES[options.estate] };
    seedScheduler(this.#records, options, random);
    this.state = {
      get index() {
        return context.index;
      },
      policies: policies.records,
      plugins: plugins.records,
      volumes: volumes.records,
      allocations: allocations.records,
      get canDetach() {
        return context.canDetach;
      },
      set canDetach(canDetach) {
        context.canDetach = canDetach;
      },
    };
    const resources: readonly Resource[] = [
      this.#access,
      new Cluster(this.#records, this.#access),
      policies,
      volumes,
      new VolumeWrites(this.#records),
      new ExternalVolumes(this.#records),
      new VolumeSnapshots(this.#records),
    ];
    this.routes = resources.flatMap(({ routes }) => routes);
  }

  authenticate(request: Request, route: Route | undefined): Response | undefined {
    return this.#access.authorize(request, route);
  }

  /** Nomad says its index with an object that does not exist, too. */
  onResponse(response: Response): Response {
    if (response.status !== 404 || response.body === '') return response;
    return { ...response, headers: { ...response.headers, ...this.#records.context.indexHeaders() } };
  }

  createToken(grant: TokenGrant, now: Date): string {
    const { context, policies } = this.#records;
    for (const [name, rules] of Object.entries(grant.rules ?? {})) {
      const index = context.nextIndex();
      policies.records.set(name, {
        name,
        description: '',
        rules,
        jobAcl: null,
        createIndex: index,
        modifyIndex: index,
      });
    }
    return this.#tokens.create(grant, now);
  }

  tick(day: number, now: Date): void {
    const random = createRandom(`${this.#options.seed}/scheduler/night/${day}`);
    tickScheduler({ ...this.#records, day, now, random });
  }
}
