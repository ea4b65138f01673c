import { setFlagsFromString } from 'node:v8';
import { startSandbox } from '../src/sandbox/index.ts';
import type { Sandbox, SandboxOptions } from '../src/sandbox/types.ts';
import { answerMessages } from './processes.ts';

/** A sandbox in a process of its own: what it costs to answer is not the measured process's. */
export type Order = { readonly start: SandboxOptions } | { readonly advance: true } | { readonly count: true };

export interface Started {
  readonly config: string;
  readonly url: string;
  readonly token: string;
}

let sandbox: Sandbox | undefined;

setFlagsFromString('--max-semi-space-size=64'); // rows come and go by the million

export const main = () =>
  answerMessages(async (order: Order): Promise<unknown> => {
    if ('start' in order) {
      sandbox = await startSandbox(order.start);
      const { urls, tokens } = sandbox;
      return { config: sandbox.config(), url: urls.platform, token: tokens.platform.read } satisfies Started;
    }
    if ('advance' in order) {
      sandbox?.advance();
      if (sandbox) sandbox.log.length = 0;
      return sandbox?.now.toISOString();
    }
    const statuses = sandbox?.log.map(({ status }) => status) ?? [];
    return { requests: statuses.length, turnedAway: statuses.filter((status) => status === 429).length };
  });
