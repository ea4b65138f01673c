import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { prepare, pullDay, serving, showDay } from './estate.ts';
import { bare } from './processes.ts';
import { VIEWS } from './recorded.ts';
import { medianRatio, type Part, type Round, type Size, seconds } from './result.ts';

const ROUNDS: Readonly<Record<Size, number>> = { quick: 1, usual: 3, large: 5 };
const WORKSPACES: Readonly<Record<Size, number>> = { quick: 2000, usual: 50_000, large: 200_000 };
const MAX_RATIO = 1.5;

export const json: Part = {
  name: 'json',
  about: 'pulls by JSON pages, beside a client that only fetches and parses the pages of the views',
  async measure(bench) {
    const { folder, size, log } = bench;
    const estate = await prepare(bench, { workspaces: WORKSPACES[size], as: 'json' });
    return serving(bench, async (url) => {
      const pages = VIEWS.map(
        (view) => `${url}/${estate}/api/v2/organizations/acme/explorer?type=${view}&page%5Bsize%5D=100`,
      );
      await showDay(`${url}/${estate}`, 'day1');
      const rounds: Round[] = [];
      for (let round = 1; round <= ROUNDS[size]; round++) {
        const alone = await bare(folder, 'bare-pages', pages);
        const project = join(folder, 'project');
        await mkdir(project);
        const pull = await pullDay(project, `${url}/${estate}`, 'day1', 'json');
        await rm(project, { recursive: true });
        log(`bare ${seconds(alone.wallMs)}, pull ${seconds(pull.wallMs)}, ${Math.round(pull.peakMiB)} MiB`);
        rounds.push({ measured: pull.wallMs, against: alone.wallMs });
      }
      const what = `first pull of ${WORKSPACES[size].toLocaleString('en')} workspaces with history`;
      return [{ what, ...medianRatio(rounds, seconds, 'to fetch and parse the pages'), aim: MAX_RATIO }];
    });
  },
};
