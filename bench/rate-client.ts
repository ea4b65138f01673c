import { loadConfig } from '../src/config/config.ts';
import { Redactor } from '../src/core/redact/redactor.ts';
import { ServiceClients } from '../src/services/client.ts';
import { platform } from '../src/services/platform/operations.ts';
import { serveMessages } from './processes.ts';

interface Message {
  /** A `tidemark.yaml`; the requests go to its first target. */
  readonly file: string;
  readonly share: number;
  readonly requests: number;
}

/** Sends requests to one target as fast as the rate limiter allows. */
export const main = () =>
  serveMessages(async ({ file, share, requests }: Message) => {
    const redactor = new Redactor();
    const [target] = loadConfig(file, {}, redactor).targets;
    if (!target) throw new Error(`${file} has no target`);
    const log = { info: () => {}, warn: () => {}, error: () => {} };
    const { signal } = new AbortController();
    const clients = new ServiceClients({ maxWait: 120 }, { redactor, log, env: {} }, signal);
    const client = clients.get({ ...target, limits: { concurrency: 8, share } });
    const startedMs = performance.now();
    const calls = Array.from({ length: requests }, () => client.call(platform['agent-pools'].list, {}));
    await Promise.all(calls);
    const tookMs = performance.now() - startedMs;
    await clients.close();
    return { tookMs };
  });
