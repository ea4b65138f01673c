import { type Config, getTarget } from '../config/config.ts';
import type { WorkContext } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { isRejection, ServiceError } from '../http/errors.ts';
import { createRequestMetrics } from '../http/response-body.ts';
import { ServiceClients } from '../services/client.ts';
import { identifyService } from '../services/describe-server.ts';
import { keepPages } from '../services/kept-pages.ts';
import type { Args, Operation } from '../services/operation.ts';
import { jsonOr, MAX_PAST_MS } from '../services/response.ts';
import { CANNOT_LIST } from '../services/scheduler/operations.ts';
import { LockError } from '../warehouse/lock.ts';
import type { ReadResult } from './define.ts';
import type { Action } from './plan-file.ts';
import { getOperation } from './registry.ts';

export interface Acting {
  readonly config: Config;
  readonly context: WorkContext;
}

/** Lets `work` read the services, until the user's signal. */
export async function withServices<T>({ config, context }: Acting, work: (remote: RemoteServices) => Promise<T>) {
  const remote = openServices(config, context, context.signal);
  return work(remote).finally(() => remote.close());
}

export type RemoteServices = Readonly<ReturnType<typeof openServices>>;

/** `signal` ends waits and transfers in progress. `beforeWrite` is called just before each request of an action is sent. */
export function openServices(config: Config, context: WorkContext, signal: AbortSignal, beforeWrite = () => {}) {
  const clients = new ServiceClients(config, context, signal);
  /** Of all reads. */
  const metrics = createRequestMetrics();
  /** How long a change at the target may take until readings show it. */
  const lagMs = (target: string): number => getTarget(config, target).lag * 1000;
  /** What the service of a target says it is: null where it does not say. @throws ServiceError */
  const identify = (name: string) => identifyService(clients, getTarget(config, name));
  /** Reads once. "Not found" is a result. @throws ServiceError for any other failure, unless `allowFailure`. */
  const read = async (
    target: string,
    operation: Operation,
    args: Args,
    { allPages, allowFailure }: Readonly<Partial<Record<'allPages' | 'allowFailure', boolean | undefined>>> = {},
  ): Promise<ReadResult> => {
    if (operation.mutates) throw new TidemarkError('UNSAFE', `${operation.name} is not a read`);
    try {
      const client = clients.get(getTarget(config, target));
      // What is older does not show what was done since.
      const options = { maxPastMs: Math.min(lagMs(target), MAX_PAST_MS), metrics };
      if (!allPages) return { found: true, value: (await client.call(operation, args, options)).json() };
      const items: unknown[] = [];
      for await (const page of keepPages(client).pages(operation, args, options)) {
        for (const item of page.items) items.push(item); // a list without pages may be longer than a call's arguments
      }
      return { found: true, value: items };
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      const { failure, serviceMessage: message } = error;
      // A storage plugin that cannot list its volumes: they are not reported (docs/services/scheduler.md#external-volumes).
      const isUnlisted = allPages && operation.params.plugin_id !== undefined && CANNOT_LIST.test(message);
      const isResult = failure === 'not-found' || isUnlisted || (allowFailure && isRejection(error));
      if (!isResult) throw error;
      return { found: false, failure, message };
    }
  };
  /**
   * Sends the action once, with the target's `writeToken`: its subject is read just before each request. Returns the JSON of the response;
   * undefined where it is not JSON.
   */
  const execute = async ({ target, operation, params, body }: Action, maxTurnMs?: number): Promise<unknown> => {
    const beforeRequest = () => {
      try {
        beforeWrite();
      } catch (error) {
        // After a pause the lock is still held, so that it can be recorded that nothing was sent.
        if (!(error instanceof LockError) || error.code !== 'INCOMPLETE') throw error;
        throw new TidemarkError('INCOMPLETE', `it was not sent: ${error.message}`);
      }
    };
    const options = { body, write: true, beforeRequest, maxTurnMs };
    const client = clients.get(getTarget(config, target));
    const called = getOperation(operation);
    const { subjectRead } = called;
    const sentOnce = { retryPolicy: 'never' } as const; // a pause would outdate what was read
    const once = { ...called, ...sentOnce, ...(subjectRead && { subjectRead: { ...subjectRead, ...sentOnce } }) };
    return jsonOr(await client.call(once, params, options), undefined);
  };
  return { lagMs, identify, read, metrics, execute, close: () => clients.close() };
}
