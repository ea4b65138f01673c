import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startHelper } from './processes.ts';
import { type Bench, type Part, type Result, seconds } from './result.ts';
import type { Started } from './sandbox.ts';

const PER_SECOND = 30;
const REQUESTS = 500;
/** The service is nobody else's: with the default of 0.9 a tenth would be left to others. */
const SHARE = 1;

export const rate: Part = {
  name: 'rate',
  about: `${REQUESTS} requests at a limit of ${PER_SECOND} a second, told in headers or not`,
  // Both mostly wait: at the same time they take half as long.
  measure: async (bench) => (await Promise.all([measure(bench, true), measure(bench, false)])).flat(),
};

async function measure({ folder }: Bench, rateHeaders: boolean): Promise<readonly Result[]> {
  const sandbox = startHelper('sandbox');
  const client = startHelper('rate-client');
  try {
    const { config } = await sandbox.ask<Started>({ start: { rate: PER_SECOND, rateHeaders } });
    const file = join(folder, `${rateHeaders ? 'told' : 'silent'}.yaml`);
    await writeFile(file, config);
    const { tookMs } = await client.ask<{ tookMs: number }>({ file, share: SHARE, requests: REQUESTS });
    const { requests, turnedAway } = await sandbox.ask<{ requests: number; turnedAway: number }>({ count: true });
    const told = rateHeaders ? 'told in headers' : 'not told';
    const leastMs = (REQUESTS / PER_SECOND) * 1000;
    return [
      {
        part: 'rate',
        what: `${REQUESTS} requests at ${PER_SECOND} a second, ${told}, share ${SHARE}`,
        measured: seconds(tookMs),
        against: `${seconds(leastMs)}, the theoretical minimum`,
        ratio: tookMs / leastMs,
        aim: rateHeaders ? 1.1 : 1.2,
      },
      {
        part: 'rate',
        what: `turned away of them, ${told}`,
        measured: `${turnedAway}`,
        against: `${requests} sent`,
        ratio: turnedAway / requests,
        aim: 0.01,
      },
    ];
  } finally {
    await Promise.all([sandbox.stop(), client.stop()]);
  }
}
