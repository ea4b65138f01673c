import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { multiply, prepare, pullTwice, serving, type TwoPulls } from './estate.ts';
import type { Usage } from './processes.ts';
import { type Bench, compareTwoRuns, type Part, type Result, type Size, showUsage } from './result.ts';

/** Rows of the recorded estate, and how often they are repeated. */
const BASE: Readonly<Record<Size, number>> = { quick: 2000, usual: 200_000, large: 200_000 };
const TIMES: Readonly<Record<Size, readonly number[]>> = { quick: [1, 3], usual: [1, 5], large: [1, 5, 25] };

export const rows: Part = {
  name: 'rows',
  about: 'a first and a second pull of the platform, by the number of workspaces',
  async measure(bench) {
    const base = BASE[bench.size];
    const recorded = await prepare(bench, { workspaces: base, as: 'csv' });
    return serving(bench, async (url) => {
      const results: Result[] = [];
      for (const times of TIMES[bench.size]) {
        const name = times === 1 ? recorded : `${recorded}-x${times}`;
        const folder = join(bench.estates, name);
        if (times > 1) await multiply({ from: join(bench.estates, recorded), to: folder, times });
        const { first, second } = await pullLogged(bench, `${url}/${name}`);
        if (times > 1) await rm(folder, { recursive: true });
        results.push(...toResults(base * times, first, second));
      }
      return results;
    });
  },
};

async function pullLogged({ folder, log }: Bench, url: string): Promise<TwoPulls> {
  const project = join(folder, 'project');
  await mkdir(project);
  const pulls = await pullTwice(project, url, 'csv');
  await rm(project, { recursive: true });
  for (const usage of [pulls.first, pulls.second]) log(showUsage(usage));
  return pulls;
}

function toResults(count: number, first: Usage, second: Usage): readonly Result[] {
  const what = `${count.toLocaleString('en')} workspaces`;
  return compareTwoRuns({ memory: `peak memory, ${what}`, time: `first and second pull, ${what}` }, first, second);
}
