import type { Target } from '../src/core/config.ts';
import { createRedactor } from '../src/core/redact.ts';
import { connect } from '../src/services/connect.ts';
import { platform } from '../src/services/platform.ts';
import { answerMessages } from './processes.ts';

interface Order {
  readonly target: Target;
  readonly share: number;
  readonly requests: number;
}

/** Makes so many requests of one target as fast as the limiter lets them go. */
export const main = () =>
  answerMessages(async ({ target, share, requests }: Order) => {
    const quiet = { info: () => {}, warn: () => {}, error: () => {} };
    const service = connect(
      { ...target, url: `${target.url}/api/v2`, limits: { concurrency: 8, share } },
      { redactor: createRedactor(), log: quiet, signal: new AbortController().signal, maxWaitMs: 120_000 },
    );
    const startedMs = performance.now();
    const calls = Array.from({ length: requests }, () => service.call(platform['agent-pools'].list, {}));
    await Promise.all(calls);
    const tookMs = performance.now() - startedMs;
    await service.close();
    return { tookMs };
  });
