import { jsonResponse } from '../responses.ts';
import type { Flavor, Response, ServiceOptions } from '../types.ts';

/** What the resources of one scheduler share. */
export class SchedulerContext {
  readonly seed: number;
  readonly flavor: Flavor;
  readonly nodes: readonly string[];
  /** Whether detaching works with the flavor of the real products, which refuse it: docs/services/scheduler.md. */
  canDetach = false;
  #index = 100;

  constructor({ seed, flavor }: ServiceOptions, nodes: readonly string[]) {
    this.seed = seed;
    this.flavor = flavor;
    this.nodes = nodes;
  }

  /** The last Raft index. */
  get index(): number {
    return this.#index;
  }

  nextIndex(): number {
    this.#index += 1;
    return this.#index;
  }

  json(body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
    return jsonResponse(body, { ...this.indexHeaders(), ...headers });
  }

  /** A list of a storage plugin: its position is not the scheduler's. */
  pluginList(body: Readonly<Record<string, unknown>>): Response {
    if (this.flavor === 'spec') return this.json(body);
    const headers = { 'x-nomad-index': '0', 'x-nomad-lastcontact': '0', 'x-nomad-knownleader': 'false' };
    return this.json({ Index: 0, KnownLeader: false, LastContact: 0, NextToken: '', ...body }, headers);
  }

  /** 200 without a body. */
  empty(): Response {
    return { status: 200, headers: this.indexHeaders() };
  }

  indexHeaders(): Record<string, string> {
    if (this.flavor === 'spec') return {};
    return { 'x-nomad-index': String(this.#index), 'x-nomad-lastcontact': '0', 'x-nomad-knownleader': 'true' };
  }
}
