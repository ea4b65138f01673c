import { mkdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises';
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { TidemarkError } from '../../src/core/errors.ts';
import { type DaemonOptions, runDaemon } from '../../src/run/schedule/daemon.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { mailConfig, mailContext, publishEmptyWarehouse } from '../helpers/mail-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';
import { until } from '../helpers/until.ts';

const NIGHTLY = { name: 'nightly', schedule: '15 2 * * *', timezone: 'Europe/Berlin' };
const stops: AbortController[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop.abort();
});

interface Served {
  readonly runs: readonly string[];
  readonly lines: readonly string[];
  readonly port: number | undefined;
  get(path: string, method?: string): Promise<Response>;
  stop(): Promise<void>;
}

async function serve(config: Config, now: () => Date, more: Partial<DaemonOptions> = {}): Promise<Served> {
  const stop = new AbortController();
  stops.push(stop);
  const runs: string[] = [];
  const context = { ...mailContext(now), signal: stop.signal };
  let ended: Promise<void> = Promise.resolve();
  const port = await new Promise<number | undefined>((ready, failed) => {
    ended = runDaemon({
      config,
      context,
      jobs: [NIGHTLY],
      runJob: async (name) => {
        runs.push(name);
        return true;
      },
      onReady: ready,
      ...more,
    });
    ended.catch(failed);
  });
  onTestFinished(() => {
    stop.abort();
  });
  return {
    runs,
    lines: context.lines,
    port,
    get: (path, method = 'GET') => fetch(`http://127.0.0.1:${port}${path}`, { method }),
    stop: async () => {
      stop.abort();
      await ended;
    },
  };
}

async function configFor(more: Readonly<Record<string, unknown>> = {}): Promise<Config> {
  const config = mailConfig(await tempFolder(), { schedule: { listen: '127.0.0.1:0' }, ...more });
  await mkdir(config.data, { recursive: true });
  return config;
}

/** Publishes a warehouse with the rows of the statements. */
async function publishWarehouse(config: Config, ...statements: readonly string[]): Promise<void> {
  await publishEmptyWarehouse(config);
  const database = await openDatabase(warehouseFiles(config.data).published, { threads: 1 });
  for (const statement of statements) await database.run(statement);
  database.close();
}

const run = (id: string, status: string, start: string, end: string | null) =>
  `insert into runs values ('${id}', 'acme', 'nightly', '${status}', '${start}', ${end ? `'${end}'` : 'null'})`;

test('the ticker starts jobs that are due, until the signal', async () => {
  let now = new Date('2030-01-10T01:14:59.900Z');
  const { runs, lines, stop } = await serve(await configFor(), () => now, { tickMs: 5 });
  expect(lines).toContain('nightly: next run 2030-01-10T01:15:00.000Z (Europe/Berlin)');
  now = new Date('2030-01-10T01:15:00.000Z');
  await until(() => expect(runs).not.toEqual([]));
  await stop();
  expect(runs).toEqual(['nightly']);
});

test('the status pages keep 200 connections at most: runs need file descriptors too', async () => {
  const { get, port, stop } = await serve(await configFor(), () => new Date('2026-11-20T02:00:00Z'));
  let refused = 0;
  const sockets = Array.from({ length: 250 }, () =>
    connect(port ?? 0, '127.0.0.1')
      .on('close', () => (refused += 1))
      .on('error', () => {}),
  );
  await until(() => expect(refused).toBe(50));
  for (const socket of sockets) socket.destroy();
  await until(async () => expect((await get('/healthz')).status).toBe(200));
  await stop();
});

test('after the signal the daemon waits for the active run', async () => {
  const config = await configFor();
  await publishWarehouse(config, run('r1', 'complete', '2026-11-19T01:15:00Z', '2026-11-19T01:20:00Z'));
  const log: string[] = [];
  let finish = () => {};
  const served = await serve(config, () => new Date('2026-11-20T02:00:00Z'), {
    runJob: () =>
      new Promise((resolve) => {
        log.push('started');
        finish = () => {
          log.push('finished');
          resolve(true);
        };
      }),
  });
  await until(() => expect(log).not.toEqual([]));
  const stopped = served.stop().then(() => log.push('stopped'));
  await new Promise((resolve) => setTimeout(resolve, 20));
  finish();
  await stopped;
  expect(log).toEqual(['started', 'finished', 'stopped']);
});

describe('catching up', () => {
  const at = async (...statements: readonly string[]) => {
    const config = await configFor();
    await publishWarehouse(config, ...statements);
    const served = await serve(config, () => new Date('2026-11-20T03:00:00Z'));
    await served.stop();
    return served.runs.length;
  };
  const before = run('r1', 'complete', '2026-11-19T01:15:00Z', '2026-11-19T01:20:00Z');

  test('catches up a start without a run in the warehouse', async () => {
    expect(await at(before)).toBe(1);
  });

  test('catches up an interrupted run, but only once', async () => {
    const interrupted = run('r2', 'interrupted', '2026-11-20T01:15:00Z', '2026-11-20T01:16:00Z');
    const killed = run('r3', 'running', '2026-11-20T02:00:00Z', null);
    expect(await at(before, interrupted)).toBe(1);
    expect(await at(interrupted)).toBe(1);
    expect(await at(before, interrupted, killed)).toBe(0);
  });

  test.each(['complete', 'incomplete', 'failed'])('does not repeat a run that is %s', async (status) => {
    expect(await at(before, run('r2', status, '2026-11-20T01:15:00Z', '2026-11-20T01:16:00Z'))).toBe(0);
  });

  test('a damaged warehouse does not keep it from starting: the next run publishes it again', async () => {
    const config = await configFor();
    await writeFile(warehouseFiles(config.data).published, 'damaged');
    const { lines, stop } = await serve(config, () => new Date('2026-11-20T03:00:00Z'));
    await stop();
    expect(lines[0]).toMatch(/^warning: missed starts are not made up for: .*cannot be opened/u);
  });

  test('catches up nothing with an empty warehouse', async () => {
    expect(await at()).toBe(0);
  });
});

describe('the status pages', () => {
  const now = () => new Date('2026-11-20T03:00:00Z');

  test('/healthz shows that the scheduler works, the active run and the next ones', async () => {
    const { get } = await serve(await configFor(), now);
    const response = await get('/healthz');
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json']);
    expect(await response.json()).toEqual({
      status: 'ok',
      running: [],
      next: [{ job: 'nightly', timezone: 'Europe/Berlin', next: '2026-11-21T01:15:00.000Z' }],
    });
  });

  test('/healthz says the same after the clock went ahead: a machine that slept works', async () => {
    let time = now();
    const { get } = await serve(await configFor(), () => time);
    time = new Date('2026-11-20T03:06:00Z');
    expect((await get('/healthz')).status).toBe(200);
  });

  test('/metrics shows last success, rows, waits and findings in the text format of Prometheus', async () => {
    const config = await configFor();
    await publishWarehouse(
      config,
      run('r1', 'complete', '2026-11-19T01:15:00Z', '2026-11-19T01:20:00Z'),
      run('r2', 'incomplete', '2026-11-20T01:15:00Z', '2026-11-20T01:16:00Z'),
      `insert into pulls (run_id, target, source, status, rows, requests, retries, throttle_wait_ms, started_at, as_of, throttled)
       values ('r1', 'a"c\\me', 'workspaces', 'complete', 240, 3, 1, 1500, now(), '2026-11-19T01:15:00Z', 2),
              ('r2', 'a"c\\me', 'workspaces', 'failed', null, 5, 4, 2500, now(), '2026-11-20T01:15:00Z', 0),
              ('r1', 'gone', 'workspaces', 'complete', 240, 3, 1, 1500, now(), '2026-11-19T01:15:00Z', 2),
              ('r2', 'gone', 'workspaces', 'left-out', null, null, null, null, now(), '2026-11-20T01:15:00Z', null)`,
      `insert into findings by name select 'f-1' as finding_id, 'acme' as target, 'r' as rule, 'critical' as severity, 's' as subject_type,
       'x' as subject_id, 't' as title, 'open' as state, now() as first_seen, now() as last_seen, 0 as times_reopened`,
    );
    const { get } = await serve(config, now);
    const response = await get('/metrics');
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const body = await response.text();
    const lines = body.split('\n');
    for (const line of [
      `tidemark_job_last_success_timestamp_seconds{job="nightly"} ${Date.parse('2026-11-19T01:20:00Z') / 1000}`,
      'tidemark_job_last_run_complete{job="nightly"} 0',
      'tidemark_job_last_run_duration_seconds{job="nightly"} 60',
      'tidemark_source_rows{target="a\\"c\\\\me",source="workspaces"} 240',
      'tidemark_source_waited_seconds{target="a\\"c\\\\me",source="workspaces"} 2.5',
      'tidemark_source_complete{target="a\\"c\\\\me",source="workspaces"} 0',
      'tidemark_findings{target="acme",severity="critical",state="open"} 1',
      'tidemark_mail_pending 0',
      `tidemark_schedule_next_run_timestamp_seconds{job="nightly"} ${Date.parse('2026-11-21T01:15:00Z') / 1000}`,
      'tidemark_schedule_runs_total{job="nightly",result="succeeded"} 0',
      'tidemark_schedule_skipped_total{job="nightly",reason="overlap"} 0',
    ]) {
      expect(lines).toContain(line);
    }
    expect(body).not.toContain('gone');
    expect(body).toMatch(/^(?:# (?:HELP|TYPE) \S+ .+\n|[a-z_]+(?:\{.*\})? -?[\d.e+]+\n)+$/u);
    expect(new Set(lines.filter((line) => line.startsWith('# TYPE'))).size).toBe(
      lines.filter((line) => line.startsWith('# TYPE')).length,
    );
  });

  test('/metrics follows the warehouse when a run replaces it, and works without one', async () => {
    const config = await configFor();
    const { get } = await serve(config, now);
    expect(await (await get('/metrics')).text()).not.toContain('tidemark_job');
    await publishWarehouse(config, run('r1', 'complete', '2026-11-19T01:15:00Z', '2026-11-19T01:20:00Z'));
    expect(await (await get('/metrics')).text()).toContain('tidemark_job_last_run_complete{job="nightly"} 1');
    await publishWarehouse(config, run('r2', 'incomplete', '2026-11-20T01:15:00Z', '2026-11-20T01:20:00Z'));
    expect(await (await get('/metrics')).text()).toContain('tidemark_job_last_run_complete{job="nightly"} 0');
  });

  test('/metrics omits what is not known, and a metric or a label that Prometheus cannot read', async () => {
    const config = await configFor();
    const folder = join(config.directory, 'queries', 'metrics');
    await mkdir(folder, { recursive: true });
    const metrics = {
      of_nothing: 'select null as value',
      of_each: "select * from (values ('a', 1), ('b', null)) as given (name, value)",
      'with-hyphen': 'select 1 as value',
      with_label: 'select 1 as value, 2 as "no label"',
      without_value: 'select 1 as number',
      of_misspelt: '-- hel: nothing\nselect 1 as value',
    };
    for (const [name, sql] of Object.entries(metrics)) await writeFile(join(folder, `${name}.sql`), `${sql};\n`);
    await publishWarehouse(config);
    const { get, lines } = await serve(config, now);
    const body = await (await get('/metrics')).text();
    expect(body).toContain('of_each{name="a"} 1\n');
    expect(body).toContain('tidemark_mail_pending 0\n');
    expect(body).not.toMatch(/name="b"|of_nothing|of_misspelt|hyphen|no label|without_value/u);
    const warned = lines.filter((line) => line.includes('queries/metrics/')).sort();
    expect(warned).toEqual([
      expect.stringContaining('of_misspelt.sql: unknown header line `-- hel: …`: did you mean help?'),
      expect.stringContaining('with-hyphen.sql: a metric cannot have this name'),
      expect.stringContaining('with_label.sql: a label cannot have the name no label'),
      expect.stringContaining('without_value.sql: it has no column value'),
    ]);
  });

  test('/metrics omits a metric whose file cannot be read', async () => {
    const config = await configFor();
    await publishWarehouse(config);
    const metric = join(config.directory, 'queries', 'metrics', 'mine.sql');
    await mkdir(join(metric, '..'), { recursive: true });
    await symlink(metric, metric);
    const { get, lines } = await serve(config, now);
    expect(await (await get('/metrics')).text()).toContain('tidemark_mail_pending 0\n');
    expect(lines.filter((line) => line.includes('queries/metrics/mine.sql: '))).toHaveLength(1);
  });

  test('/metrics is read again after the warehouse could not be opened', async () => {
    const config = await configFor();
    await publishWarehouse(config);
    const { get } = await serve(config, now);
    const { published } = warehouseFiles(config.data);
    const content = await readFile(published);
    /** The size and the time of the file stay as they are. */
    const put = async (bytes: Buffer) => {
      await writeFile(published, bytes);
      await utimes(published, now(), now());
    };
    await put(Buffer.alloc(content.length));
    expect((await get('/metrics')).status).toBe(500);
    await put(content);
    expect((await get('/metrics')).status).toBe(200);
  });

  test('other paths and methods are refused', async () => {
    const { get } = await serve(await configFor(), now);
    expect((await get('/')).status).toBe(404);
    expect((await get('/constructor')).status).toBe(404);
    expect((await get('/metrics', 'POST')).status).toBe(405);
    const head = await get('/healthz', 'HEAD');
    expect([head.status, await head.text()]).toEqual([200, '']);
  });

  test('a name that leads to this machine is not answered: a page of another site has it', async () => {
    const { port } = await serve(await configFor(), now);
    const ask = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const take = (response: IncomingMessage) => resolve(response.resume().statusCode);
        request({ host: '127.0.0.1', port, path: '/metrics', headers }, take).on('error', reject).end();
      });
    expect(await ask({ host: 'evil.example' })).toBe(421);
    expect(await ask({ host: `localhost:${port}` })).toBe(200);
    const everywhere = await serve(await configFor({ schedule: { listen: ':0' } }), now);
    expect((await everywhere.get('/healthz')).status).toBe(200);
  });

  test('an address in use is an error of the configuration', async () => {
    const { createServer } = await import('node:http');
    const taken = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => taken.once('listening', resolve));
    onTestFinished(() => {
      taken.close();
    });
    const { port } = taken.address() as { port: number };
    const config = await configFor({ schedule: { listen: `127.0.0.1:${port}` } });
    await expect(serve(config, now)).rejects.toThrow(TidemarkError);
    await expect(serve(config, now)).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringContaining('EADDRINUSE'),
    });
  });
});
