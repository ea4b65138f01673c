import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { HttpTimeouts } from '../../src/core/context.ts';
import { startSandbox } from '../../src/sandbox/index.ts';
import type { Kind } from '../../src/sandbox/types.ts';
import { contentsOf } from '../crash/estate.ts';
import { type CliRun, cli } from '../helpers/cli.ts';
import { readRows } from '../helpers/rows.ts';
import { type Cleanup, tempFolder } from '../helpers/temp.ts';
import { type Asked, type Fault, type FaultProxy, faultProxy, type Upstream } from './fault-proxy.ts';
import { QUICK } from './quick.ts';

/** The five ways in which sources ask, each as a target of its own whose every answer comes through a proxy. */
export const KINDS = ['csv', 'pages', 'list', 'token', 'single'] as const;
export type Way = (typeof KINDS)[number];

/** Which service, which source of it, and the requests that bring its rows. */
const WAYS: Readonly<Record<Way, { kind: Kind; source: string; rows: RegExp }>> = {
  csv: { kind: 'platform', source: 'workspaces', rows: /export\/csv|explorer\?.*page\[size\]=100/u },
  pages: { kind: 'platform', source: 'workspaces', rows: /explorer\?.*page\[size\]=100/u },
  list: { kind: 'secrets', source: 'keys', rows: /keymgmt\/key/u },
  token: { kind: 'scheduler', source: 'acl_policies', rows: /acl\/polic/u },
  single: { kind: 'mesh', source: 'ca_roots', rows: /ca\/roots/u },
};

export interface PullRow {
  readonly status: string;
  readonly error: string | null;
  readonly requests: number;
  readonly retries: number;
  readonly throttled: number;
}

export interface Outcome {
  readonly run: CliRun;
  readonly pulls: Readonly<Record<Way | 'healthy', PullRow>>;
  /** Every table, but for those of the healthy target. */
  readonly tables: unknown;
}

/** An estate that was pulled once in good order. */
export interface Estate {
  readonly proxies: Readonly<Record<Way, FaultProxy>>;
  readonly folder: string;
  readonly good: Outcome;
  /** Pulls once more while answers with rows go wrong, so many of each way's or all. */
  /** Names of the files that the last night landed of a way. */
  landed(way: Way): Promise<readonly string[]>;
  night(fault: Fault | Partial<Record<Way, Fault>>, options?: NightOptions): Promise<Outcome>;
}

export interface NightOptions {
  /** @default all */
  readonly times?: number;
  readonly timeouts?: Partial<HttpTimeouts>;
  /** Which requests, where not those that bring rows. */
  readonly paths?: Partial<Record<Way, RegExp>>;
}

export async function estate(cleanup: Cleanup): Promise<Estate> {
  const sandbox = await startSandbox({ workspaces: 230, rate: 1000 });
  cleanup(() => sandbox.close());
  const folder = await tempFolder(cleanup);
  const proxies = {} as Record<Way, FaultProxy>;
  for (const way of KINDS) {
    proxies[way] = await faultProxy(sandbox.urls[WAYS[way].kind], way === 'token' ? inTwoPages : undefined);
    cleanup(() => proxies[way].close());
  }
  const targets = KINDS.map((way) => ({
    name: way,
    kind: WAYS[way].kind,
    url: proxies[way].url,
    token: sandbox.tokens[WAYS[way].kind].read,
    ...(WAYS[way].kind === 'platform' && { organization: sandbox.services.platform.state.organization }),
    ...(way === 'pages' && { explorer: 'json' }),
    limits: { requestsPerSecond: 1000, concurrency: 4 },
  }));
  const healthy = { name: 'healthy', kind: 'autoscaler', url: sandbox.urls.autoscaler };
  await writeFile(join(folder, 'tidemark.yaml'), stringify({ maxWait: 5, targets: [...targets, healthy] }));

  const night: Estate['night'] = async (fault, { times = Number.POSITIVE_INFINITY, timeouts = {}, paths = {} } = {}) => {
    for (const way of KINDS) {
      const mine = typeof fault === 'function' ? fault : fault[way];
      proxies[way].heads.length = 0;
      if (mine) proxies[way].break(paths[way] ?? WAYS[way].rows, mine, times);
      else proxies[way].mend();
    }
    const sources = [...new Set([...KINDS.map((way) => WAYS[way].source), 'autoscaler_health'])];
    const words = ['pull', '--fresh', ...sources.flatMap((source) => ['--source', source])];
    const run = await cli([...words, '--now', sandbox.now.toISOString()], {
      cwd: folder,
      timeouts: { ...QUICK, ...timeouts },
    });
    return outcome(folder, run);
  };
  const landed = async (way: Way) => {
    const root = join(folder, 'data', 'landing');
    const runs = await readRows(
      join(folder, 'data', 'warehouse.duckdb'),
      'select arg_max(run_id, started_at) as last from runs',
    );
    return readdir(join(root, String(runs[0]?.last), way));
  };
  return { proxies, folder, landed, good: await night({}), night };
}

async function outcome(folder: string, run: CliRun): Promise<Outcome> {
  const file = join(folder, 'data', 'warehouse.duckdb');
  const rows = await readRows(
    file,
    `select target, status, error, requests, retries, throttled from pulls
     where run_id = (select arg_max(run_id, as_of) from pulls) order by target`,
  );
  const { autoscaler_health: _asked, ...tables } = await contentsOf(file);
  return {
    run,
    pulls: Object.fromEntries(rows.map(({ target, ...row }) => [target, row])) as unknown as Outcome['pulls'],
    tables,
  };
}

/** The sandbox has too few policies for two pages: here are two all the same. */
function inTwoPages(answer: Upstream, { url }: Asked): Upstream {
  if (!/\/acl\/policies/u.test(url)) return answer;
  const items = JSON.parse(answer.body.toString('utf8')) as unknown[];
  const half = Math.ceil(items.length / 2);
  const second = url.includes('next_token=second');
  return {
    ...answer,
    headers: second ? answer.headers : { ...answer.headers, 'x-nomad-nexttoken': 'second' },
    body: Buffer.from(JSON.stringify(second ? items.slice(half) : items.slice(0, half))),
  };
}
