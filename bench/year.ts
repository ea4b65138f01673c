import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pull } from './prepare.ts';
import { startHelper } from './processes.ts';
import { VIEWS } from './recorded.ts';
import { compareWithLimit, medianRatio, type Part, type Result, type Round, type Size, seconds } from './result.ts';
import type { Started } from './sandbox.ts';

const RUNS: Readonly<Record<Size, number>> = { quick: 20, usual: 365, large: 365 };
const WORKSPACES: Readonly<Record<Size, number>> = { quick: 500, usual: 10_000, large: 10_000 };
/** The last runs also pull into a warehouse with a single run: the same rows at the same time. */
const RUNS_COMPARED = 9;
const MAX_RATIO = 1.1;
const MAX_BYTES = 20_000_000;

export const year: Part = {
  name: 'year',
  about: 'a year of nights, 10,000 workspaces, 2 % changing: the last runs',
  async measure(bench) {
    const runs = RUNS[bench.size];
    const sandbox = startHelper('sandbox');
    try {
      const { config } = await sandbox.ask<Started>({ start: { workspaces: WORKSPACES[bench.size], rate: 100_000 } });
      const old = await warehouse(bench.folder, 'old', config);
      const young = await warehouse(bench.folder, 'young', config);
      const rounds: Round[] = [];
      let now = '2026-10-01T02:15:00Z';
      for (let run = 1; run <= runs; run++) {
        const measured = await timedPull(old, now);
        const left = runs - run;
        if (left === RUNS_COMPARED) await timedPull(young, now);
        if (left < RUNS_COMPARED) rounds.push({ measured, against: await timedPull(young, now) });
        if (run % 73 === 0) bench.log(`run ${run}: ${seconds(measured)}`);
        now = await sandbox.ask<string>({ tick: true });
      }
      const { size } = await stat(join(old, 'data', 'warehouse.duckdb'));
      return results(rounds, size);
    } finally {
      await sandbox.stop();
    }
  },
};

async function warehouse(folder: string, name: string, config: string): Promise<string> {
  const project = join(folder, name);
  await mkdir(project);
  await writeFile(join(project, 'tidemark.yaml'), `${config}landingDays: 1\n`);
  return project;
}

/** Runs the command in this process: the start of Node would hide what grows. */
async function timedPull(folder: string, now: string): Promise<number> {
  const sources = VIEWS.flatMap((view) => ['--source', view]);
  const startedMs = performance.now();
  await pull(folder, ['--quiet', '--now', now, 'pull', ...sources]);
  return performance.now() - startedMs;
}

function results(rounds: readonly Round[], size: number): readonly Result[] {
  const what = 'the last runs of a year, pull of all four views';
  return [
    { what, ...medianRatio(rounds, seconds, 'for the same runs into a new warehouse'), aim: MAX_RATIO },
    {
      what: 'the warehouse after it, lists of workspaces included',
      ...compareWithLimit([size], MAX_BYTES, (bytes) => `${(bytes / 1_000_000).toFixed(1)} MB`),
    },
  ];
}
