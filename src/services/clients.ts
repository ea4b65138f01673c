import { type Config, credentialKey, type Target } from '../config/config.ts';
import type { ServiceContext } from '../core/context.ts';
import { createTargetLimiter, type TargetLimiter } from '../http/rate-limiter.ts';
import { createServiceClient, type ServiceClient } from './client.ts';

/** The clients of a run: one per target, created on first use. Targets with the same credential share a rate limiter. */
export class ServiceClients {
  readonly #maxWaitMs: number;
  readonly #context: ServiceContext;
  readonly #signal: AbortSignal;
  readonly #clients = new Map<string, ServiceClient>();
  readonly #limiters = new Map<string, TargetLimiter>();

  /** `signal` aborts every wait and transfer. */
  constructor({ maxWait }: Pick<Config, 'maxWait'>, context: ServiceContext, signal: AbortSignal) {
    this.#maxWaitMs = maxWait * 1000;
    this.#context = context;
    this.#signal = signal;
  }

  get(target: Target): ServiceClient {
    const client = this.#clients.get(target.name) ?? this.#create(target);
    this.#clients.set(target.name, client);
    return client;
  }

  /** Closes the connections of a target that needs no more requests. */
  async release(target: string): Promise<void> {
    const client = this.#clients.get(target);
    this.#clients.delete(target);
    await client?.close();
  }

  /** Closes idle connections. */
  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }

  #create(target: Target): ServiceClient {
    const { redactor, log, env, timeouts } = this.#context;
    const key = credentialKey(target);
    const limiter = this.#limiters.get(key) ?? createTargetLimiter(target);
    this.#limiters.set(key, limiter);
    return createServiceClient(target, {
      redactor,
      // Arguments come from responses of the service: the user cannot act on a warning about them.
      log: { ...log, warn: () => {} },
      signal: this.#signal,
      env,
      maxWaitMs: this.#maxWaitMs,
      limiter,
      ...(timeouts && { timeouts }),
    });
  }
}
