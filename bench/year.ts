import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run as runCommand } from '../src/cli.ts';
import { startHelper } from './processes.ts';
import { medianRatio, type Part, type Result, type Round, seconds } from './result.ts';
import type { Started } from './sandbox.ts';

const RUNS = 365;
const WORKSPACES = 10_000;
/** The last runs also pull into a warehouse with a single run: the same rows at the same time. */
const RUNS_COMPARED = 9;
const MAX_BYTES = 100_000_000;
const VIEWS = ['workspaces', 'tf_versions', 'providers', 'modules'];

export const year: Part = {
  name: 'year',
  about: `a year of nightly runs with ${WORKSPACES.toLocaleString('en')} workspaces, 2 % changing: the last runs compared with the second`,
  async measure(bench) {
    const sandbox = startHelper('sandbox');
    try {
      const { config } = await sandbox.ask<Started>({ start: { workspaces: WORKSPACES, rate: 100_000 } });
      const old = await warehouse(bench.folder, 'old', config);
      const young = await warehouse(bench.folder, 'young', config);
      const rounds: Round[] = [];
      let now = '2026-10-01T02:15:00Z';
      for (let run = 1; run <= RUNS; run++) {
        const measured = await pull(old, now);
        const left = RUNS - run;
        if (left === RUNS_COMPARED) await pull(young, now);
        if (left < RUNS_COMPARED) rounds.push({ measured, against: await pull(young, now) });
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
async function pull(folder: string, now: string): Promise<number> {
  let words = '';
  const sources = VIEWS.flatMap((view) => ['--source', view]);
  const startedMs = performance.now();
  const code = await runCommand({
    argv: ['--quiet', '--now', now, 'pull', ...sources],
    cwd: folder,
    env: {},
    stdout: () => {},
    stderr: (text) => {
      words += text;
    },
    readStdin: async () => '',
    readLine: async () => '',
    stdinIsTerminal: false,
    stdoutIsTerminal: false,
    terminal: undefined,
    signal: new AbortController().signal,
  });
  if (code !== 0) throw new Error(`the run of ${now} ended with ${code}: ${words}`);
  return performance.now() - startedMs;
}

function results(rounds: readonly Round[], size: number): readonly Result[] {
  const what = 'the last runs of a year, pull of all four views';
  return [
    { part: 'year', what, ...medianRatio(rounds, seconds, 'for the same runs into a new warehouse'), aim: 1.2 },
    {
      part: 'year',
      what: 'the warehouse after it, lists of workspaces included',
      measured: `${(size / 1_000_000).toFixed(1)} MB`,
      against: '100 MB',
      ratio: size / MAX_BYTES,
      aim: 1,
    },
  ];
}
