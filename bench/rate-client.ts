import { loadConfig } from '../src/core/config.ts';
import { createRedactor } from '../src/core/redact.ts';
import { connect } from '../src/services/connect.ts';
import { platform } from '../src/services/platform.ts';
import { answerMessages } from './processes.ts';

interface Order {
  /** A `tidemark.yaml` whose first target is asked. */
  readonly file: string;
  readonly share: number;
  readonly requests: number;
}

/** Makes so many requests of one target as fast as the limiter lets them go. */
export const main = () =>
  answerMessages(async ({ file, share, requests }: Order) => {
    const redactor = createRedactor();
    const [target] = loadConfig(file, {}, redactor).targets;
    if (!target) throw new Error(`${file} has no target`);
    const quiet = { info: () => {}, warn: () => {}, error: () => {} };
    const service = connect(
      { ...target, limits: { concurrency: 8, share } },
      { redactor, log: quiet, signal: new AbortController().signal, maxWaitMs: 120_000 },
    );
    const startedMs = performance.now();
    const calls = Array.from({ length: requests }, () => service.call(platform['agent-pools'].list, {}));
    await Promise.all(calls);
    const tookMs = performance.now() - startedMs;
    await service.close();
    return { tookMs };
  });
