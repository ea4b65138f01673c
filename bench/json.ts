import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { prepare, serving, writeConfig } from './estate.ts';
import { bare, TIDEMARK, timed } from './processes.ts';
import { type Bench, type Part, type Result, type Round, ratioOf, seconds } from './result.ts';

const RUNS = 3;
const ROWS = 200_000;
const PAGE_SIZE = 100;

export const json: Part = {
  name: 'json',
  about:
    'pull of 200,000 rows by JSON pages held against a client that only fetches and parses them, one after another',
  async measure(bench) {
    await prepare({ folder: join(bench.folder, 'pages'), workspaces: ROWS, as: 'pages' });
    return serving(bench.folder, async (url) => {
      const rounds: Round[] = [];
      for (let round = 1; round <= RUNS; round++) rounds.push(await measureRound(bench, `${url}/pages/night1`));
      return [resultOf(rounds)];
    });
  },
};

async function measureRound(bench: Bench, url: string): Promise<Round> {
  const pages = `${url}/api/v2/organizations/acme/explorer?type=workspaces&page[size]=${PAGE_SIZE}`;
  const alone = await bare(bench.folder, 'bare-pages', [pages]);
  const folder = join(bench.folder, 'pull');
  await mkdir(folder);
  const config = await writeConfig(folder, 'tidemark', { url, explorer: 'json' });
  const pull = await timed(folder, [TIDEMARK, '--config', config, '--quiet', 'pull', '--source', 'workspaces']);
  await rm(folder, { recursive: true });
  bench.say(`bare ${seconds(alone.wallMs)}, pull ${seconds(pull.wallMs)}, ${Math.round(pull.peakMiB)} MiB`);
  return { measured: pull.wallMs, against: alone.wallMs };
}

function resultOf(rounds: readonly Round[]): Result {
  const what = 'pull of 200,000 rows by JSON pages, history and publishing included';
  return { part: 'json', what, ...ratioOf(rounds, seconds, 'to fetch and parse the pages'), aim: 1.5 };
}
