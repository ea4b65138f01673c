import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../src/cli.ts';
import { startHelper } from './processes.ts';
import { type Part, type Result, type Round, ratioOf, seconds } from './result.ts';
import type { Started } from './sandbox.ts';

const NIGHTS = 365;
const WORKSPACES = 10_000;
/** So many nights at the end are also pulled into a warehouse that is one night old, in turn: the same rows, the same moment. */
const NIGHTS_COMPARED = 9;
const MAX_BYTES = 100_000_000;
const VIEWS = ['workspaces', 'tf_versions', 'providers', 'modules'];

export const year: Part = {
  name: 'year',
  about: `a year of nights of ${WORKSPACES.toLocaleString('en')} workspaces, 2 % changing: the last nights held against the second`,
  async measure(bench) {
    const sandbox = startHelper('sandbox');
    try {
      const { config } = await sandbox.ask<Started>({ start: { workspaces: WORKSPACES, rate: 100_000 } });
      const old = await warehouse(bench.folder, 'old', config);
      const young = await warehouse(bench.folder, 'young', config);
      const rounds: Round[] = [];
      let now = '2026-10-01T02:15:00Z';
      for (let night = 1; night <= NIGHTS; night++) {
        const measured = await pull(old, now);
        const left = NIGHTS - night;
        if (left === NIGHTS_COMPARED) await pull(young, now);
        if (left < NIGHTS_COMPARED) rounds.push({ measured, against: await pull(young, now) });
        if (night % 73 === 0) bench.say(`night ${night}: ${seconds(measured)}`);
        now = await sandbox.ask<string>({ advance: true });
      }
      const { size } = await stat(join(old, 'data', 'warehouse.duckdb'));
      return results(rounds, size);
    } finally {
      await sandbox.stop();
    }
  },
};

async function warehouse(folder: string, name: string, config: string): Promise<string> {
  const place = join(folder, name);
  await mkdir(place);
  await writeFile(join(place, 'tidemark.yaml'), `${config}landingDays: 1\n`);
  return place;
}

/** The command, in this process: a start of Node each night would hide what grows. */
async function pull(folder: string, now: string): Promise<number> {
  let words = '';
  const sources = VIEWS.flatMap((view) => ['--source', view]);
  const startedMs = performance.now();
  const code = await run({
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
  if (code !== 0) throw new Error(`the night of ${now} ended with ${code}: ${words}`);
  return performance.now() - startedMs;
}

function results(rounds: readonly Round[], size: number): readonly Result[] {
  const what = 'the last nights of a year, pull of all four views';
  return [
    { part: 'year', what, ...ratioOf(rounds, seconds, 'for the same nights into a new warehouse'), aim: 1.2 },
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
