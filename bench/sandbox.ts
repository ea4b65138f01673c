import { setFlagsFromString } from 'node:v8';
import { type RunningSandbox, type StartOptions, startSandbox } from '../sandbox/index.ts';
import { serveMessages } from './processes.ts';

/** A message to the sandbox, which runs in a separate process so that its work is not measured. */
export type SandboxMessage =
  | { readonly start: StartOptions }
  | { readonly tick: true }
  | { readonly count: true }
  /** Lists the requests since the last such message. */
  | { readonly list: true };

export interface Started {
  readonly config: string;
  readonly url: string;
  readonly token: string;
}

let sandbox: RunningSandbox | undefined;

setFlagsFromString('--max-semi-space-size=64'); // millions of rows are allocated and freed

export const main = () =>
  serveMessages(async (message: SandboxMessage): Promise<unknown> => {
    if ('start' in message) {
      sandbox = await startSandbox(message.start);
      const { urls, tokens } = sandbox;
      return { config: sandbox.config(), url: urls.platform, token: tokens.platform.read } satisfies Started;
    }
    if ('tick' in message) {
      sandbox?.tick();
      if (sandbox) sandbox.log.length = 0;
      return sandbox?.now.toISOString();
    }
    if ('list' in message) return sandbox?.log.splice(0).map(({ kind, path }) => `${kind} ${path}`);
    const statuses = sandbox?.log.map(({ status }) => status) ?? [];
    return { requests: statuses.length, throttled: statuses.filter((status) => status === 429).length };
  });
