import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startHelper, TIDEMARK, timed } from './processes.ts';
import type { Part, Result, Size } from './result.ts';
import type { Started } from './sandbox.ts';

const WORKSPACES: Readonly<Record<Size, number>> = { quick: 500, usual: 10_000, large: 10_000 };
/** One volume and one policy: the services report an index of each in their lists. */
const SINGLE_READ = /^scheduler \/v1\/(?:volume\/csi|acl\/policy)\//u;

export const unchanged: Part = {
  name: 'unchanged',
  about: 'requests of the pulls of all services on two nights between which nothing changed, 10,000 workspaces',
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
      return compare(nights[0] ?? [], nights[1] ?? []);
    } finally {
      await sandbox.stop();
    }
  },
};

function compare(first: readonly string[], second: readonly string[]): readonly Result[] {
  const reads = (night: readonly string[]) => night.filter((request) => SINGLE_READ.test(request));
  return [
    count('requests of the second night', second, first),
    { ...count('of them, reads of single volumes and policies', reads(second), reads(first)), aim: 0 },
  ];
}

function count(what: string, second: readonly string[], first: readonly string[]): Result {
  const against = `${first.length} on the first night`;
  return { part: 'unchanged', what, measured: `${second.length}`, against, ratio: second.length / first.length };
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
