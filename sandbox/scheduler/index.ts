import { createRandom, uuid } from '../random.ts';
import { bindRoutes, textResponse } from '../router.ts';
import type { Request, Response, Route, Service, ServiceOptions, TokenGrant } from '../types.ts';
import { accessRoutes, authorize } from './access.ts';
import { SchedulerContext } from './context.ts';
import { livePolicyRoutes, policyRoutes } from './policies.ts';
import { seedScheduler } from './seed.ts';
import { externalRoutes, snapshotRoutes } from './snapshots.ts';
import { tickScheduler } from './tick.ts';
import { volumeWriteRoutes } from './volume-writes.ts';
import { volumeRoutes } from './volumes.ts';

const NODES = 12;

/** The scheduler: ACL policies, volumes, and the content of its storage plugins. */
export class SchedulerService implements Service {
  readonly kind = 'scheduler';
  readonly base = '/v1';
  readonly error = textResponse;
  readonly state: SchedulerContext;
  readonly routes: readonly Route[];

  constructor(options: ServiceOptions) {
    const { seed, flavor } = options;
    const random = createRandom(`${seed}/scheduler/estate`);
    const nodes = Array.from({ length: NODES }, () => uuid(random));
    this.state = new SchedulerContext(options, nodes);
    seedScheduler(this.state, options, random);
    const tables = [policyRoutes, volumeRoutes, volumeWriteRoutes(flavor), externalRoutes, snapshotRoutes(flavor)];
    if (flavor === 'hashicorp') tables.push(accessRoutes, livePolicyRoutes);
    this.routes = bindRoutes(this.state, ...tables);
  }

  authenticate(request: Request, route: Route | undefined): Response | undefined {
    return authorize(this.state, request, route);
  }

  /** Nomad says its index with an object that does not exist, too. */
  onResponse(response: Response): Response {
    if (response.status !== 404 || response.body === '') return response;
    return { ...response, headers: { ...response.headers, ...this.state.indexHeaders() } };
  }

  addPolicies({ rules: granted = {} }: TokenGrant): void {
    for (const [name, rules] of Object.entries(granted)) {
      const index = this.state.nextIndex();
      const policy = { name, description: '', rules, jobAcl: null, createIndex: index, modifyIndex: index };
      this.state.policies.set(name, policy);
    }
  }

  tick(day: number, now: Date): void {
    tickScheduler(this.state, day, now);
  }
}
