import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { manyTargets, prepare, serving, showDay, writeTargets } from './estate.ts';
import { TIDEMARK, timed, type Usage } from './processes.ts';
import { compareWithLimit, mebibytes, type Part, type Result, type Size, seconds, showUsage } from './result.ts';

const TARGETS: Readonly<Record<Size, number>> = { quick: 5, usual: 500, large: 500 };
const WORKSPACES: Readonly<Record<Size, number>> = { quick: 200, usual: 2000, large: 2000 };
const MAX_MS = 180_000;
const MAX_MIB = 1000;

export const targets: Part = {
  name: 'targets',
  about: 'pull of 500 targets with 2,000 workspaces each, in one process',
  async measure(bench) {
    const { folder, size, log } = bench;
    const estate = await prepare(bench, { workspaces: WORKSPACES[size], as: 'csv' });
    return serving(bench, async (url) => {
      const project = join(folder, 'project');
      await mkdir(project);
      const results: Result[] = [];
      // The second pull takes as long as the first, and is measured only in a large run.
      for (const day of size === 'usual' ? ['day1'] : ['day1', 'day2']) {
        await showDay(`${url}/${estate}`, day);
        const config = await writeTargets(project, day, manyTargets(`${url}/${estate}`, TARGETS[size]));
        const now = `2026-11-0${day.slice(-1)}T02:15:00Z`;
        const usage = await timed(project, [TIDEMARK, '--config', config, '--quiet', '--now', now, 'pull']);
        log(`${day}: ${showUsage(usage)}`);
        results.push(...toResults(day === 'day1' ? 'first' : 'second', usage));
      }
      return results;
    });
  },
};

function toResults(which: string, { wallMs, cpuMs, peakMiB }: Usage): readonly Result[] {
  const what = `${which} pull of all targets`;
  const cpu = { measured: seconds(cpuMs), against: `${seconds(wallMs)} of time`, ratio: cpuMs / wallMs };
  return [
    { what, ...compareWithLimit([wallMs], MAX_MS, seconds) },
    { what: `${what}, CPU time`, ...cpu },
    { what: `${what}, peak memory`, ...compareWithLimit([peakMiB], MAX_MIB, mebibytes) },
  ];
}
