import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../src/cli.ts';
import { startHelper } from './processes.ts';
import { median, type Part, type Result, seconds } from './result.ts';
import type { Started } from './sandbox.ts';

const NIGHTS = 365;
const WORKSPACES = 10_000;
/** One night says little: so many at either end are taken, and their median. */
const NIGHTS_COMPARED = 7;
const MAX_MIB = 100_000_000 / 1024 / 1024;
/** Every source and the findings, no reports. */
const JOB = 'pull: all\nreports: []\n';

export const year: Part = {
  name: 'year',
  about: `a year of nights of ${WORKSPACES.toLocaleString('en')} workspaces, 2 % changing: the last nights held against the first`,
  async measure(bench) {
    const sandbox = startHelper('sandbox');
    try {
      const { config } = await sandbox.ask<Started>({ start: { workspaces: WORKSPACES, rate: 100_000 } });
      await mkdir(join(bench.folder, 'jobs'));
      await writeFile(join(bench.folder, 'jobs', 'night.yaml'), JOB);
      await writeFile(join(bench.folder, 'tidemark.yaml'), `${config}landingDays: 1\n`);
      const tookMs: number[] = [];
      let now = '2026-10-01T02:15:00Z';
      for (let night = 1; night <= NIGHTS; night++) {
        tookMs.push(await oneNight(bench.folder, now));
        if (night % 73 === 0) bench.say(`night ${night}: ${seconds(tookMs.at(-1) ?? 0)}`);
        now = await sandbox.ask<string>({ advance: true });
      }
      const { size } = await stat(join(bench.folder, 'data', 'warehouse.duckdb'));
      return results(tookMs, size);
    } finally {
      await sandbox.stop();
    }
  },
};

/** The command, in this process: a start of Node each night would hide what grows. */
async function oneNight(folder: string, now: string): Promise<number> {
  let words = '';
  const startedMs = performance.now();
  const code = await run({
    argv: ['--quiet', '--now', now, 'run', 'night'],
    cwd: folder,
    env: {},
    stdout: () => {},
    stderr: (text) => (words += text),
    readStdin: async () => '',
    readLine: async () => '',
    stdinIsTerminal: false,
    stdoutIsTerminal: false,
    terminal: undefined,
    signal: new AbortController().signal,
  });
  if (code !== 0) throw new Error(`the night of ${now} ended with ${code}: ${words}`);
  return performance.now() - startedMs;
}

function results(tookMs: readonly number[], bytes: number): readonly Result[] {
  // The first night loads everything anew; the ones after it have something to compare with.
  const first = median(tookMs.slice(1, 1 + NIGHTS_COMPARED));
  const last = median(tookMs.slice(-NIGHTS_COMPARED));
  const against = `${seconds(first)} of the first nights`;
  const size = bytes / 1024 / 1024;
  return [
    {
      part: 'year',
      what: 'the last nights of a year',
      measured: seconds(last),
      against,
      ratio: last / first,
      aim: 1.2,
    },
    {
      part: 'year',
      what: 'the warehouse after it, lists of workspaces included',
      measured: `${size.toFixed(1)} MiB`,
      against: '100 MB',
      ratio: size / MAX_MIB,
      aim: 1,
    },
  ];
}
