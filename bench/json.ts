import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeConfig } from './estate.ts';
import { bare, startHelper, TIDEMARK, timed } from './processes.ts';
import { type Bench, medianRatio, type Part, type Result, type Round, seconds } from './result.ts';
import type { Started } from './sandbox.ts';

const ROUNDS = 3;
const ROWS = 200_000;
const PAGE_SIZE = 100;
/** High enough to slow neither side. */
const REQUESTS_PER_SECOND = 100_000;

export const json: Part = {
  name: 'json',
  about:
    'pull of 200,000 rows by JSON pages from the sandbox, compared with a client that fetches and parses one page after another',
  async measure(bench) {
    const sandbox = startHelper('sandbox');
    try {
      const start = { workspaces: ROWS, rate: REQUESTS_PER_SECOND };
      const started = await sandbox.ask<Started>({ start });
      const rounds: Round[] = [];
      for (let round = 1; round <= ROUNDS; round++) rounds.push(await measureRound(bench, started));
      return [toResult(rounds)];
    } finally {
      await sandbox.stop();
    }
  },
};

async function measureRound(bench: Bench, { url, token }: Started): Promise<Round> {
  const pages = `${url}/api/v2/organizations/acme/explorer?type=workspaces&page[size]=${PAGE_SIZE}`;
  const alone = await bare(bench.folder, 'bare-pages', [pages, token]);
  const folder = join(bench.folder, 'pull');
  await mkdir(folder);
  const config = await writeConfig(folder, 'tidemark', { url, token, explorer: 'json' });
  const pull = await timed(folder, [TIDEMARK, '--config', config, '--quiet', 'pull', '--source', 'workspaces']);
  await rm(folder, { recursive: true });
  bench.log(`bare ${seconds(alone.wallMs)}, pull ${seconds(pull.wallMs)}, ${Math.round(pull.peakMiB)} MiB`);
  return { measured: pull.wallMs, against: alone.wallMs };
}

function toResult(rounds: readonly Round[]): Result {
  const what = 'pull of 200,000 rows by JSON pages, history and publishing included';
  return { part: 'json', what, ...medianRatio(rounds, seconds, 'to fetch and parse the pages'), aim: 1.5 };
}
