import { type Config, credentialKey, type Target } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { type Limiter, limiterFor } from '../http/limiter.ts';
import { ServiceError } from '../http/service-error.ts';
import type { Answer, Answers } from '../playbooks/step.ts';
import { connect, type Service } from '../services/connect.ts';
import { operations } from '../services/index.ts';
import type { Args, Operation } from '../services/operation.ts';
import type { Action } from './plan-file.ts';

/** The services, as planning and applying reach them: each target is connected when it is first asked. */
export interface FarSide {
  /** One reading; "not there" is an answer. @throws ServiceError for every other refusal, unless `mayFail`. */
  read(target: string, operation: Operation, args: Args, how?: ReadHow): Promise<Answer>;
  /** Every reading of a guard. */
  look(target: string, reads: Action['guard']['reads']): Promise<Answers>;
  /** The deed, with the target's `writeToken`. @returns the answer's JSON, where it is one. */
  act(action: Action): Promise<unknown>;
  close(): Promise<void>;
}

export interface ReadHow {
  readonly whole?: boolean | undefined;
  readonly mayFail?: boolean | undefined;
}

/** `signal` ends waits and transfers under way. */
export function farSide(config: Config, context: Context, signal: AbortSignal): FarSide {
  const serviceOf = connector(config, context, signal);
  const read: FarSide['read'] = async (target, operation, args, how = {}) => {
    if (operation.changes) throw new TidemarkError('UNSAFE', `${operation.name} is no reading`);
    try {
      const service = serviceOf(target);
      return {
        found: true,
        value: await (how.whole ? allItems(service, operation, args) : one(service, operation, args)),
      };
    } catch (error) {
      if (!(error instanceof ServiceError) || !isAnswer(error, how.mayFail ?? false)) throw error;
      return { found: false, failure: error.failure, words: error.words };
    }
  };
  return {
    read,
    look: async (target, reads) => {
      const answers: Record<string, Answer> = {};
      for (const [name, { operation, params, ...how }] of Object.entries(reads)) {
        answers[name] = await read(target, operationNamed(operation), params, how);
      }
      return answers;
    },
    act: async ({ target, operation: name, params, body }) => {
      const answer = await serviceOf(target).call(operationNamed(name), params, { body, write: true });
      return jsonOf(answer);
    },
    close: async () => {
      await serviceOf.close();
    },
  };
}

/** @throws TidemarkError UNSAFE: a plan that names it was not made by this version. */
export function operationNamed(name: string): Operation {
  const operation = operations.get(name);
  if (operation) return operation;
  throw new TidemarkError('UNSAFE', `unknown operation ${name}`, { hint: 'make a new plan' });
}

function connector({ targets, maxWait }: Config, { redactor, log, env }: Context, signal: AbortSignal) {
  const services = new Map<string, Service>();
  const limiters = new Map<string, Limiter>();
  // Arguments come from the services' own answers: what is unusual about them is not the reader's to mend.
  const quiet = { ...log, warn: () => {} };
  const connected = (target: Target): Service => {
    const key = credentialKey(target);
    const limiter = limiters.get(key) ?? limiterFor(target);
    limiters.set(key, limiter);
    return connect(target, { redactor, log: quiet, signal, env, maxWaitMs: maxWait * 1000, limiter });
  };
  const serviceOf = (name: string): Service => {
    const known = services.get(name);
    if (known) return known;
    const target = targets.find((candidate) => candidate.name === name);
    if (!target) {
      throw new TidemarkError('UNSAFE', `target ${name} is not configured`, {
        hint: 'add it back, or make a new plan',
      });
    }
    const service = connected(target);
    services.set(name, service);
    return service;
  };
  const close = () => Promise.all([...services.values()].map((service) => service.close()));
  return Object.assign(serviceOf, { close });
}

async function one(service: Service, operation: Operation, args: Args): Promise<unknown> {
  return (await service.call(operation, args)).json();
}

async function allItems(service: Service, operation: Operation, args: Args): Promise<readonly unknown[]> {
  const items: unknown[] = [];
  for await (const page of service.pages(operation, args)) items.push(...page.items);
  return items;
}

/** Refusals that tell about the subject; a bad token, a full limit or a silent network tell nothing about it. */
const ABOUT_THE_SUBJECT = new Set(['not-found', 'invalid', 'server', 'conflict', 'timeout']);

function isAnswer({ failure, words }: ServiceError, mayFail: boolean): boolean {
  // A plugin that cannot list is an answer too: what it holds is then not told (live-services.md C1).
  return failure === 'not-found' || (mayFail && ABOUT_THE_SUBJECT.has(failure)) || /not support/iu.test(words);
}

/** What most writes answer, the documents do not show: text that is no JSON says nothing more. */
function jsonOf(answer: { json(): unknown }): unknown {
  try {
    return answer.json();
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
