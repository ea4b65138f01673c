import { credentialKey } from '../core/config.ts';
import { type Limiter, limiterFor } from '../http/limiter.ts';
import { createServiceClient, type ServiceClient } from '../services/client.ts';
import type { PullOptions } from './pull.ts';

/** A service for each target; targets with one credential share its limit. */
export function createClients({
  pulls,
  config,
  env,
  log,
  redactor,
  signal,
  timing,
}: PullOptions): ReadonlyMap<string, ServiceClient> {
  const limiters = new Map<string, Limiter>();
  const services = new Map<string, ServiceClient>();
  for (const { target } of pulls) {
    if (services.has(target.name)) continue;
    const key = credentialKey(target);
    const limiter = limiters.get(key) ?? limiterFor(target);
    limiters.set(key, limiter);
    // Arguments come from the services' own answers here: what is unusual about them is not the reader's to mend.
    const quiet = { ...log, warn: () => {} };
    services.set(
      target.name,
      createServiceClient(target, {
        redactor,
        log: quiet,
        signal,
        env,
        maxWaitMs: config.maxWait * 1000,
        limiter,
        ...(timing && { timing }),
      }),
    );
  }
  return services;
}
