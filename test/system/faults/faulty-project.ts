import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Kind } from '../../../sandbox/types.ts';
import type { HttpTimeouts } from '../../../src/core/context.ts';
import { type CliRun, cli } from '../../helpers/cli.ts';
import { startWithEmptyWarehouse } from '../../helpers/prepared.ts';
import { readRows } from '../../helpers/rows.ts';
import { type Cleanup, tempFolder } from '../../helpers/temp.ts';
import { startTestSandbox } from '../../helpers/test-sandbox.ts';
import { readContents } from '../../helpers/warehouse-checks.ts';
import { type Asked, type Fault, type FaultProxy, faultProxy, type Upstream } from './fault-proxy.ts';
import { QUICK } from './quick.ts';

/** The five kinds of extraction, each as a target of its own behind a proxy. */
export const KINDS = ['csv', 'pages', 'list', 'token', 'single'] as const;
export type PullKind = (typeof KINDS)[number];

/** The service, the source, and the requests that return its rows. */
const PULL_KINDS: Readonly<Record<PullKind, { kind: Kind; source: string; rows: RegExp }>> = {
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

export interface PulledState {
  readonly run: CliRun;
  readonly pulls: Readonly<Record<PullKind | 'healthy', PullRow>>;
  /** All tables, except those of the healthy target. */
  readonly tables: unknown;
}

/** A project after one pull without faults. */
export interface FaultyProject {
  readonly proxies: Readonly<Record<PullKind, FaultProxy>>;
  readonly folder: string;
  readonly good: PulledState;
  /** Pulls again with faults in the responses with rows: some number per kind, or all. */
  /** The files that the last run landed for a kind. */
  landed(kind: PullKind): Promise<readonly string[]>;
  pull(fault: Fault | Partial<Record<PullKind, Fault>>, options?: FaultOptions): Promise<PulledState>;
}

export interface FaultOptions {
  /** @default all */
  readonly times?: number;
  readonly timeouts?: Partial<HttpTimeouts>;
  /** The requests to break. @default those that return rows */
  readonly paths?: Partial<Record<PullKind, RegExp>>;
  /** The targets to pull. @default all */
  readonly targets?: readonly PullKind[];
}

export async function faultyProject(cleanup: Cleanup): Promise<FaultyProject> {
  const sandbox = await startTestSandbox({ workspaces: 230, rate: 1000 });
  cleanup(() => sandbox.close());
  const folder = await tempFolder(cleanup);
  const proxies = {} as Record<PullKind, FaultProxy>;
  for (const kind of KINDS) {
    proxies[kind] = await faultProxy(sandbox.urls[PULL_KINDS[kind].kind], kind === 'token' ? inTwoPages : undefined);
    cleanup(() => proxies[kind].close());
  }
  const targets = KINDS.map((kind) => ({
    name: kind,
    kind: PULL_KINDS[kind].kind,
    url: proxies[kind].url,
    token: sandbox.tokens[PULL_KINDS[kind].kind].read,
    ...(PULL_KINDS[kind].kind === 'platform' && { organization: sandbox.services.platform.state.organization }),
    ...(kind === 'pages' && { explorer: 'json' }),
    limits: { requestsPerSecond: 1000, concurrency: 4 },
  }));
  const healthy = { name: 'healthy', kind: 'autoscaler', url: sandbox.urls.autoscaler };
  await writeFile(join(folder, 'tidemark.yaml'), stringify({ maxWait: 5, targets: [...targets, healthy] }));
  await startWithEmptyWarehouse(join(folder, 'data'));

  const pull: FaultyProject['pull'] = async (
    fault,
    { times = Number.POSITIVE_INFINITY, timeouts = {}, paths = {}, targets: pulled } = {},
  ) => {
    for (const kind of KINDS) {
      const mine = typeof fault === 'function' ? fault : fault[kind];
      proxies[kind].heads.length = 0;
      if (mine) proxies[kind].break(paths[kind] ?? PULL_KINDS[kind].rows, mine, times);
      else proxies[kind].mend();
    }
    const sources = new Set((pulled ?? KINDS).map((kind) => PULL_KINDS[kind].source));
    if (!pulled) sources.add('autoscaler_health');
    const selected = [...sources].flatMap((source) => ['--source', source]);
    const words = ['pull', '--fresh', ...selected, ...(pulled ?? []).flatMap((target) => ['--target', target])];
    const run = await cli([...words, '--now', sandbox.now.toISOString()], {
      cwd: folder,
      timeouts: { ...QUICK, ...timeouts },
    });
    return outcome(folder, run);
  };
  const landed = async (kind: PullKind) => {
    const root = join(folder, 'data', 'landing');
    const runs = await readRows(
      join(folder, 'data', 'warehouse.duckdb'),
      'select arg_max(run_id, started_at) as last from runs',
    );
    return readdir(join(root, String(runs[0]?.last), kind));
  };
  return { proxies, folder, landed, good: await pull({}), pull };
}

async function outcome(folder: string, run: CliRun): Promise<PulledState> {
  const file = join(folder, 'data', 'warehouse.duckdb');
  const rows = await readRows(
    file,
    `select target, status, error, requests, retries, throttled from pulls
     where run_id = (select arg_max(run_id, as_of) from pulls) order by target`,
  );
  const { autoscaler_health: _asked, ...tables } = await readContents(file);
  return {
    run,
    pulls: Object.fromEntries(rows.map(({ target, ...row }) => [target, row])) as unknown as PulledState['pulls'],
    tables,
  };
}

/** Splits the few policies of the sandbox into two pages. */
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
