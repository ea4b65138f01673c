import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { prepare, runDay, serving } from './estate.ts';
import { compareTwoRuns, type Part, type Size, showUsage } from './result.ts';

const WORKSPACES: Readonly<Record<Size, number>> = { quick: 2000, usual: 200_000, large: 200_000 };
const NIGHTLY = ['run', 'nightly'];

export const night: Part = {
  name: 'night',
  about: 'the job `nightly` of an estate with four findings for each workspace: pulls, rules and all reports',
  async measure(bench) {
    const count = WORKSPACES[bench.size];
    const estate = await prepare(bench, { workspaces: count, as: 'csv' });
    return serving(bench, async (url) => {
      const project = join(bench.folder, 'project');
      await mkdir(project);
      const first = await runDay(project, `${url}/${estate}`, 'day1', 'csv', NIGHTLY);
      const second = await runDay(project, `${url}/${estate}`, 'day2', 'csv', NIGHTLY);
      await rm(project, { recursive: true });
      for (const usage of [first, second]) bench.log(showUsage(usage));
      const nights = `first and second night, ${count.toLocaleString('en')} workspaces`;
      return compareTwoRuns({ memory: `${nights}, peak memory`, time: `${nights}, time` }, first, second);
    });
  },
};
