import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openDatabase } from '../src/warehouse/database.ts';
import { startHelper, TIDEMARK, timed } from './processes.ts';
import type { Part, Result, Size } from './result.ts';
import type { Started } from './sandbox.ts';

const WORKSPACES: Readonly<Record<Size, number>> = { quick: 500, usual: 10_000, large: 10_000 };
/** The list of policies has an index of each, and that of volumes too, but not what claims them: docs/decisions.md#objects-that-are-proven-unchanged-are-not-read-again. */
const POLICY = /^scheduler \/v1\/acl\/policy\//u;
const VOLUME = /^scheduler \/v1\/volume\/csi\//u;

export const unchanged: Part = {
  name: 'unchanged',
  about: 'requests of all services on two nights between which nothing changed, 10,000 workspaces',
  async measure({ folder, size, log }) {
    const sandbox = startHelper('sandbox');
    try {
      const { config } = await sandbox.ask<Started>({ start: { workspaces: WORKSPACES[size], rate: 100_000 } });
      const project = join(folder, 'project');
      await mkdir(project);
      await writeFile(join(project, 'tidemark.yaml'), config);
      const nights: (readonly string[])[] = [];
      for (const now of ['2026-10-01T02:15:00Z', '2026-10-02T02:15:00Z']) {
        await timed(project, [TIDEMARK, '--quiet', '--now', now, 'pull']);
        nights.push(await sandbox.ask<readonly string[]>({ list: true }));
        log(countByPath(nights.at(-1) ?? []));
      }
      return compare(nights[0] ?? [], nights[1] ?? [], await countClaimed(join(project, 'data', 'warehouse.duckdb')));
    } finally {
      await sandbox.stop();
    }
  },
};

function compare(first: readonly string[], second: readonly string[], claimed: number): readonly Result[] {
  const matching = (night: readonly string[], path: RegExp) => night.filter((request) => path.test(request)).length;
  const count = (what: string, sent: number, before: number): Result => {
    const against = `${before} on the first night`;
    return { what, measured: `${sent}`, against, ratio: sent / before };
  };
  const volumes = matching(second, VOLUME);
  return [
    count('requests of the second night', second.length, first.length),
    { ...count('of them, reads of single policies', matching(second, POLICY), matching(first, POLICY)), aim: 0 },
    {
      what: 'of them, reads of single volumes',
      measured: `${volumes}, ${matching(first, VOLUME)} on the first night`,
      against: `${claimed} volumes with claims`,
      ratio: volumes / claimed,
      aim: 1,
    },
  ];
}

async function countClaimed(warehouse: string): Promise<number> {
  const database = await openDatabase(warehouse, { readOnly: true });
  try {
    const [row] = await database.rows(
      'select count(distinct (target, namespace, volume_id))::integer as claimed from volume_allocations',
    );
    return Number(row?.claimed);
  } finally {
    database.close();
  }
}

/** The most frequent paths, with their last segment replaced. */
function countByPath(requests: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const request of requests) {
    const path = request.replace(/[^/]+$/u, '*');
    counts.set(path, (counts.get(path) ?? 0) + 1);
  }
  const most = [...counts].sort(([, a], [, b]) => b - a).slice(0, 8);
  return `${requests.length} requests: ${most.map(([path, times]) => `${times} × ${path}`).join(', ')}`;
}
