import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeConfig } from './estate.ts';
import { TIDEMARK } from './processes.ts';
import { createYear } from './reports-estate.ts';
import { mebibytes, type Part, type Result, type Size, seconds } from './result.ts';

const CLIENTS: Readonly<Record<Size, number>> = { quick: 30, usual: 300, large: 300 };
const SECONDS: Readonly<Record<Size, number>> = { quick: 5, usual: 60, large: 60 };

const query = (sql: string, format = 'csv') => `/query.${format}?sql=${encodeURIComponent(sql)}`;
/** What readers ask for: pages, saved queries and SQL, short and long. */
const PATHS = [
  '/',
  '/tables/workspaces',
  '/saved/agents-by-pool',
  query('select * from workspaces limit 100'),
  query('select project_name, count(*) as n from workspaces_history group by all order by all', 'json'),
  query('select * from workspaces'),
];

export const clients: Part = {
  name: 'clients',
  about: '300 clients of `tidemark serve` for a minute: pages, saved queries and SQL over 365 runs',
  async measure({ folder, size, log }) {
    await writeConfig(folder, 'tidemark', { url: 'https://tidemark.test' });
    await mkdir(join(folder, 'data'));
    (await createYear(join(folder, 'data', 'warehouse.duckdb'))).database.close();
    const server = spawn(execPath, [TIDEMARK, 'serve', '--port', '0'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [url] = (await once(server.stdout, 'data')) as [Buffer];
      const load = await sendLoad(
        String(url).trim().replace(/\/$/u, ''),
        CLIENTS[size],
        SECONDS[size],
        server.pid as number,
      );
      log(`${load.answers} answers, ${load.waits} requests to wait, ${load.lost.length} lost ${load.lost[0] ?? ''}`);
      return summarize(load, CLIENTS[size], SECONDS[size]);
    } finally {
      server.kill();
      await once(server, 'exit');
    }
  },
};

interface Load {
  answers: number;
  /** Answers 503, which ask the client to come again. */
  waits: number;
  /** Neither of both, with the reason. */
  readonly lost: string[];
  /** Longest time from the first request of a client to its answer, the waits included. */
  slowestMs: number;
  serverMiB: number;
  workerMiB: number;
}

async function sendLoad(url: string, count: number, durationSeconds: number, pid: number): Promise<Load> {
  const load: Load = { answers: 0, waits: 0, lost: [], slowestMs: 0, serverMiB: 0, workerMiB: 0 };
  const agent = new Agent({ keepAlive: true, maxSockets: count });
  const end = performance.now() + durationSeconds * 1000;
  const ask = async (first: number) => {
    for (let index = first; performance.now() < end; index++) {
      const started = performance.now();
      let status = await get(`${url}${PATHS[index % PATHS.length]}`, agent);
      for (; status === 503; status = await get(`${url}${PATHS[index % PATHS.length]}`, agent)) {
        load.waits++;
        await sleep(5000); // as `retry-after` asks
      }
      if (status === 200) load.answers++;
      else load.lost.push(`${PATHS[index % PATHS.length]}: ${status}`);
      load.slowestMs = Math.max(load.slowestMs, performance.now() - started);
    }
  };
  const sampling = setInterval(() => samplePeaks(pid, load), 500);
  await Promise.all(Array.from({ length: count }, (_, index) => ask(index)));
  clearInterval(sampling);
  agent.destroy();
  return load;
}

/** The status, or why the answer is not whole. */
async function get(url: string, agent: Agent): Promise<number | string> {
  return new Promise((resolve) => {
    request(url, { agent, headers: { accept: 'text/html' } }, (response) => {
      response.resume();
      response.on('error', (error) => resolve(error.message));
      response.on('end', () => resolve(response.complete ? (response.statusCode ?? 0) : 'cut off'));
    })
      .on('error', (error) => resolve(error.message))
      .end();
  });
}

/** Peak resident sets of the server and of its workers (proc_pid_status(5), VmHWM). */
function samplePeaks(pid: number, load: Load): void {
  const peak = (id: number) => Number(/VmHWM:\s+(\d+)/u.exec(readFileSync(`/proc/${id}/status`, 'utf8'))?.[1]) / 1024;
  load.serverMiB = Math.max(load.serverMiB, peak(pid));
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  for (const child of children) {
    try {
      load.workerMiB = Math.max(load.workerMiB, peak(Number(child)));
    } catch {
      // it ended since
    }
  }
}

function summarize(load: Load, count: number, durationSeconds: number): readonly Result[] {
  const { answers, waits, lost, slowestMs, serverMiB, workerMiB } = load;
  const rate = answers / durationSeconds;
  return [
    {
      what: 'answers',
      measured: `${rate.toFixed(0)} a second`,
      against: `${count} clients`,
      ratio: rate / count,
    },
    {
      what: 'lost answers',
      measured: String(lost.length),
      against: `${answers} answers`,
      ratio: lost.length,
      aim: 0,
    },
    {
      what: 'requests to come again',
      measured: String(waits),
      against: `${answers} answers`,
      ratio: waits / Math.max(1, answers),
    },
    {
      what: 'slowest answer, with the time until the client may come again',
      measured: seconds(slowestMs),
      against: `${durationSeconds} s of load`,
      ratio: slowestMs / 1000 / durationSeconds,
    },
    {
      what: 'peak memory of the server',
      measured: mebibytes(serverMiB),
      against: `${mebibytes(workerMiB)} of the largest of 2 workers`,
      ratio: serverMiB / workerMiB,
    },
  ];
}
