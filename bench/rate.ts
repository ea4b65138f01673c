import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startHelper } from './processes.ts';
import { type Bench, type Part, type Result, type Size, seconds } from './result.ts';
import type { Started } from './sandbox.ts';

const PER_SECOND = 30;
const REQUESTS: Readonly<Record<Size, number>> = { quick: 60, usual: 500, large: 500 };
/** No other client uses the service. The default of 0.9 leaves a tenth to others. */
const SHARE = 1;

export const rate: Part = {
  name: 'rate',
  about: `500 requests at a limit of ${PER_SECOND} a second, advertised in headers or not`,
  // Both mostly wait, so they run at the same time.
  measure: async (bench) => (await Promise.all([measure(bench, true), measure(bench, false)])).flat(),
};

async function measure({ folder, size }: Bench, rateHeaders: boolean): Promise<readonly Result[]> {
  const count = REQUESTS[size];
  const sandbox = startHelper('sandbox');
  const client = startHelper('rate-client');
  try {
    const { config } = await sandbox.ask<Started>({ start: { rate: PER_SECOND, rateHeaders } });
    const file = join(folder, `${rateHeaders ? 'advertised' : 'headerless'}.yaml`);
    await writeFile(file, config);
    const { tookMs } = await client.ask<{ tookMs: number }>({ file, share: SHARE, requests: count });
    const { requests, throttled } = await sandbox.ask<{ requests: number; throttled: number }>({ count: true });
    const form = rateHeaders ? 'advertised in headers' : 'not advertised';
    const leastMs = (count / PER_SECOND) * 1000;
    return [
      {
        what: `${count} requests at ${PER_SECOND} a second, ${form}, share ${SHARE}`,
        measured: seconds(tookMs),
        against: `${seconds(leastMs)}, the theoretical minimum`,
        ratio: tookMs / leastMs,
        aim: rateHeaders ? 1.1 : 1.2,
      },
      {
        what: `throttled of them, ${form}`,
        measured: `${throttled}`,
        against: `${requests} sent`,
        ratio: throttled / requests,
        aim: 0.01,
      },
    ];
  } finally {
    await Promise.all([sandbox.stop(), client.stop()]);
  }
}
