import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Flavor } from '../../sandbox/types.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { testProject } from '../helpers/test-project.ts';

/** Numbers of what a platform has. */
interface Counts {
  readonly workspaces: number;
  readonly pools: number;
  readonly views: number;
}

const pages = (items: number) => Math.ceil(items / 100);
const POOLS = ({ pools }: Counts) => pages(pools) + pools;

/** What docs/first-night.md says that a pull of a platform sends. */
const CASES: readonly (readonly [
  words: string,
  flavor: Flavor,
  explorer: boolean,
  requests: (of: Counts) => number,
])[] = [
  [
    '| | agent pools | N/100, and one for the agents of each pool |',
    'hashicorp',
    true,
    (of) => 8 + 2 + 9 + POOLS(of) + 2 + of.views,
  ],
  ['| | public modules | N/100 (without `flavor: hashicorp`) |', 'spec', true, (of) => 9 + POOLS(of) + 2 + of.views],
  [
    '| | `explorer: workspaces` | instead of all but the pools: N/100 for the workspaces, and as many for their versions |',
    'spec',
    false,
    (of) => 2 * pages(of.workspaces) + POOLS(of),
  ],
];

test.each(CASES)(
  'a first pull of a platform sends what docs/first-night.md says: %s',
  async (words, flavor, explorer, requests) => {
    const page = await readFile(join(PACKAGE_ROOT, 'docs/first-night.md'), 'utf8');
    expect(page).toContain(`\n${words}\n`);
    const place = await testProject({ workspaces: 250, flavor, explorer });
    await place.configure((config) => {
      config.targets = config.targets.slice(0, 1);
      Object.assign(config.targets[0] ?? {}, { without: flavor === 'hashicorp' ? ['tokens'] : [] });
    });
    await place.pull();
    const { workspaces, pools, views } = place.sandbox.services.platform.state;
    const counts = { workspaces: workspaces.length, pools: pools.length, views: views.length };
    expect(place.sandbox.log).toHaveLength(requests(counts));
  },
);

test('the nights of README.md send what its table says', async () => {
  const readme = await readFile(join(PACKAGE_ROOT, 'README.md'), 'utf8');
  const said = /^\| 100 \| (\d+) requests, \d+ s \| (\d+) requests/mu.exec(readme)?.slice(1).map(Number);
  const place = await testProject({ workspaces: 100, seed: 1 });
  await place.pull();
  const first = place.sandbox.log.length;
  place.sandbox.tick();
  await place.pull();
  expect([first, place.sandbox.log.length - first]).toEqual(said);
});
