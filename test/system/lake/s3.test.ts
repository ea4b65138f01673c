import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { DEFAULT_TIMEOUTS } from '../../../src/core/context.ts';
import { Redactor } from '../../../src/core/redact/redactor.ts';
import { publishToLake } from '../../../src/lake/publish.ts';
import { discard, openBucket, sendToBucket } from '../../../src/lake/s3/client.ts';
import type { S3Request } from '../../../src/lake/s3/request.ts';
import { cli } from '../../helpers/cli.ts';
import { type LakeProject, lakeProject } from '../../helpers/lake-project.ts';
import { testStore, withStore } from '../../helpers/lake-store.ts';
import { openLakeViews } from '../../helpers/lake-views.ts';
import { findS3Server, type S3Server, startS3Server } from '../../helpers/s3-server.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';

/** A lake in a bucket of a real S3 server: versitygw over a folder. */
const atEnd = cleanAtEnd();
const program = findS3Server();
const SOURCES = ['workspaces', 'keys'].flatMap((source) => ['--source', source]);
const DAY_HOURS = 24;
const WORKSPACE = `insert into workspaces_history by name
  select 'acme' as target, 'ws-1' as external_id, timestamptz '2026-10-01T02:15:00Z' as valid_from`;
const METRIC = `insert into autoscaler_metrics_history by name
  select 'a' as target, 'gauge' as kind, 'jobs' as name, '{}'::json as labels, 1 as value,
    timestamptz '2026-10-01' as measured_at, timestamptz '2026-10-01T02:15:00Z' as valid_from`;

describe.skipIf(program === undefined)('a lake in a bucket', () => {
  let server: S3Server;
  let project: TestProject;
  const run = (words: readonly string[]) => project.tidemark(words, { env: server.env });
  /** A lake of some tables: commands read each file of each table. */
  let few: LakeProject;
  const runFew = (words: readonly string[]) =>
    cli(['lake', ...words, '--lake', inBucket('few')], { cwd: few.folder, env: server.env });
  const inBucket = (prefix: string) => `s3://${server.bucket}/${prefix}`;
  const objects = (prefix: string) => readdir(join(server.folder, prefix), { recursive: true });

  beforeAll(async () => {
    server = await startS3Server(program ?? '', atEnd);
    project = await testProject({ workspaces: 8, cleanup: atEnd });
    few = await lakeProject({ tables: 'few', cleanup: atEnd });
  });

  let stores = 0;
  testStore('a bucket', async () => {
    const location = inBucket(`stores/${++stores}`);
    return (work) => withStore(location, server.env, work);
  });

  test('takes a large file as a whole, and has nothing of one that cannot be read', async () => {
    const content = randomBytes(11 * 1024 ** 2);
    await withStore(inBucket('whole'), server.env, async (store) => {
      await store.putFile('t/large', (file) => writeFile(file, content));
      expect((await readFile(await store.locate('t/large'))).equals(content)).toBe(true);
      await expect(store.putFile('t/gone', async () => {})).rejects.toMatchObject({ code: 'ENOENT' });
      expect((await store.list('t')).map(({ path }) => path)).toEqual(['t/large']);
    });
  });

  test('has each run, of a pull or published later, and makes the warehouse again', async () => {
    const nameLake = (lake: string | undefined) =>
      project.configure((config) => {
        config.lake = lake;
      });
    await nameLake(inBucket('fleet/lake'));
    const first = await run(['pull', '--json', ...SOURCES]);
    expect([first.exit, first.json()]).toMatchObject([0, { lake: { problem: null } }]);
    project.sandbox.tick();
    await nameLake(undefined);
    expect(await run(['pull', ...SOURCES])).toMatchObject({ exit: 0 });
    await nameLake(inBucket('fleet/lake'));
    expect((await run(['lake', 'publish'])).stdout).toMatch(
      new RegExp(`^publish 2048: .* in ${inBucket('fleet/lake')}`, 'u'),
    );
    const query = ['sql', '--json', 'select * from workspaces_history order by all'];
    const before = (await run(query)).stdout;
    await rm(join(project.folder, 'data'), { recursive: true });
    const restored = await run(['lake', 'restore']);
    expect([restored.exit, restored.stderr]).toEqual([0, '']);
    expect((await run(query)).stdout).toBe(before);
    expect((await run(['sql', '--json', 'select count(*)::int as n from runs'])).json()).toEqual([{ n: 2 }]);
  });

  test('is reported by DuckDB', async () => {
    const fleet = await run(['report', 'fleet', '--json']);
    expect([fleet.exit, fleet.stderr, fleet.json()]).toMatchObject([0, '', { summary: { workspaces: 8 } }]);
  });

  test('verify names a file that is gone or changed; vacuum removes what no commit names', async () => {
    await few.night('2026-10-01T02:15:00Z', WORKSPACE, METRIC);
    await withStore(inBucket('few'), server.env, (store) => few.publish(store));
    const ddl = await runFew(['ddl', '--engine', 'duckdb']);
    expect(ddl.stdout).toContain(`delta_scan('${inBucket('few')}/workspaces_changes')`);
    const files = (await objects('few/workspaces_changes')).filter((name) => name.endsWith('.parquet'));
    const path = join(server.folder, 'few/workspaces_changes', files[0] ?? '');
    const content = await readFile(path);
    const [metrics = ''] = (await objects('few/autoscaler_metrics_changes')).filter((name) =>
      name.endsWith('.parquet'),
    );
    const changed = join(server.folder, 'few/autoscaler_metrics_changes', metrics);
    const before = await readFile(changed);
    await writeFile(changed, randomBytes(before.length));
    await rm(path);
    const broken = await runFew(['verify', '--json']);
    expect(broken).toMatchObject({ exit: 4, stderr: expect.stringContaining('is missing') });
    expect(broken.json()).toMatchObject({
      problems: [
        { table: 'autoscaler_metrics_changes', problem: 'has another checksum' },
        { table: 'workspaces_changes', problem: 'is missing' },
      ],
    });
    await writeFile(changed, before);
    const elsewhere = join(few.folder, 'elsewhere');
    await mkdir(elsewhere);
    await cp(few.config.file, join(elsewhere, 'tidemark.yaml'));
    const restore = ['lake', 'restore', '--lake', inBucket('few')];
    const restored = await cli(restore, { cwd: elsewhere, env: server.env });
    expect(restored).toMatchObject({ exit: 4, stderr: expect.stringContaining('is missing') });
    expect(await readdir(join(elsewhere, 'data', 'lake-files'))).toEqual([]);
    await withStore(inBucket('few'), server.env, async (store) => {
      await store.putFile(`workspaces_changes/${files[0]}`, (file) => writeFile(file, content));
      await store.put('workspaces_changes/month=2026-10/stray.parquet', 'x');
    });
    expect(
      (await runFew(['vacuum', '--older-than', String(DAY_HOURS), '--now', '2020-01-01T00:00:00Z'])).stdout,
    ).toContain('0 files');
    expect((await runFew(['vacuum', '--now', '2100-01-01T00:00:00Z'])).stdout).toBe('1 file, 1 byte removed\n');
    const verified = await runFew(['verify', '--json']);
    expect([verified.exit, verified.json()]).toMatchObject([0, { problems: [], unnamed: 0 }]);
  });

  test('keeps no copies after a command, and no secret anywhere', async () => {
    for (const { folder } of [project, few]) {
      expect(await readdir(join(folder, 'data', 'lake-files'))).toEqual([]);
      const written = await readdir(folder, { recursive: true, withFileTypes: true });
      for (const entry of written.filter((one) => one.isFile())) {
        const content = await readFile(join(entry.parentPath, entry.name));
        expect([entry.name, content.includes(server.env.AWS_SECRET_ACCESS_KEY ?? '')]).toEqual([entry.name, false]);
      }
    }
  });

  test('with versions takes a publish after one that has given its number back', async () => {
    await makeVersionedBucket('versions');
    const versioned = await lakeProject({ tables: 'few' });
    const publish = () => withStore('s3://versions/lake', server.env, versioned.publish);
    await versioned.night('2026-10-01T02:15:00Z', WORKSPACE);
    expect(await publish()).toMatchObject({ publish: 1024 });
    for (let time = 1; time <= 2; time++) expect(await publish()).toMatchObject({ publish: null });
    await versioned.night('2026-10-02T02:15:00Z', METRIC);
    expect(await publish()).toMatchObject({ publish: expect.any(Number) });
  });

  async function makeVersionedBucket(name: string): Promise<void> {
    const { signal } = new AbortController();
    const options = { env: server.env, redactor: new Redactor(), signal, timeouts: DEFAULT_TIMEOUTS };
    const bucket = openBucket({ ...options, address: { bucket: name, prefix: '' } });
    const put = (more: Pick<S3Request, 'query' | 'text'> = {}) =>
      sendToBucket(bucket, { method: 'PUT', key: '', ...more }, discard);
    await put();
    const text = '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>';
    await put({ query: { versioning: '' }, text });
    await bucket.transport.close();
  }

  test('is closed from shards, and two closers at once close it once', async () => {
    const location = inBucket('shards');
    for (const index of [1, 2]) {
      const shard = await lakeProject({ tables: 'few' });
      await shard.night(`2026-10-01T02:15:0${index}Z`, WORKSPACE.replaceAll('ws-1', `ws-${index}`));
      const config = { ...shard.config, shard: { index, count: 2 } };
      await withStore(location, server.env, (store) =>
        publishToLake({ config, store, now: new Date(), run: 'first-night' }),
      );
    }
    expect(existsSync(join(server.folder, 'shards', 'runs_changes', '_delta_log'))).toBe(false);
    const close = () =>
      cli(['lake', 'close', '--shards', '2', '--run', 'first-night', '--json', '--lake', location], {
        cwd: few.folder,
        env: server.env,
      });
    const closed = await Promise.all([close(), close()]);
    expect(closed.map(({ exit, stderr }) => [exit, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    await withStore(location, server.env, async (store) => {
      const engine = await openLakeViews(store);
      const rows =
        'select (select count(*)::int from runs) as runs, (select list(external_id order by external_id) from workspaces) as ids';
      expect(await engine.rows(rows).finally(engine.close)).toEqual([{ runs: 2, ids: ['ws-1', 'ws-2'] }]);
    });
    const verified = await cli(['lake', 'verify', '--lake', location], { cwd: few.folder, env: server.env });
    expect(verified).toMatchObject({ exit: 0 });
  });
});
