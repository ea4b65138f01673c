import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { Redactor } from '../../../src/core/redact/redactor.ts';
import { DEFAULT_TIMEOUTS } from '../../../src/http/timeouts.ts';
import { createTransport } from '../../../src/http/transport.ts';
import { readS3Access } from '../../../src/lake/s3/address.ts';
import { createFileBody } from '../../../src/lake/s3/body.ts';
import { S3Client } from '../../../src/lake/s3/client.ts';
import { discard, readAnswer, uploadFile, uploadParts } from '../../../src/lake/s3/upload.ts';
import { testStore, withStore } from '../../helpers/lake-store.ts';
import { findS3Server, type S3Server, startS3Server } from '../../helpers/s3-server.ts';
import { cleanAtEnd, tempFolder } from '../../helpers/temp.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';

/** A lake in a bucket of a real S3 server: versitygw over a folder. */
const atEnd = cleanAtEnd();
const program = findS3Server();
const SOURCES = ['workspaces', 'keys'].flatMap((source) => ['--source', source]);
const DAY_HOURS = 24;

function connect({ bucket, env }: S3Server): S3Client {
  const redactor = new Redactor();
  const transport = createTransport({ concurrency: 2, env, timeouts: DEFAULT_TIMEOUTS, redactor });
  atEnd(transport.close);
  return new S3Client({
    name: `s3://${bucket}`,
    address: { bucket, prefix: '' },
    access: readS3Access(env, redactor),
    transport,
    timeouts: DEFAULT_TIMEOUTS,
    signal: new AbortController().signal,
  });
}

describe.skipIf(program === undefined)('a lake in a bucket', () => {
  let server: S3Server;
  let project: TestProject;
  const run = (words: readonly string[]) => project.tidemark(words, { env: server.env });
  const inBucket = (prefix: string) => `s3://${server.bucket}/${prefix}`;
  const objects = (prefix: string) => readdir(join(server.folder, prefix), { recursive: true });

  beforeAll(async () => {
    server = await startS3Server(program ?? '', atEnd);
    project = await testProject({ workspaces: 8, cleanup: atEnd });
    await project.configure((config) => {
      config.lake = inBucket('fleet/lake');
    });
  });

  let stores = 0;
  testStore('a bucket', async () => {
    const location = inBucket(`stores/${++stores}`);
    return (work) => withStore(location, server.env, work);
  });

  test('takes a large file in parts, and has nothing of one that fails', async () => {
    const file = join(await tempFolder(), 'large');
    const content = randomBytes(11 * 1024 ** 2);
    await writeFile(file, content);
    const parts = { singleBytes: 1024, partBytes: 5 * 1024 ** 2 };
    const client = connect(server);
    await uploadFile(client, 'parts/t/large', file, parts);
    await truncate(file, 6 * 1024 ** 2); // after the size is known, in the middle of the second part
    await expect(uploadParts(client, 'parts/t/gone', file, { size: content.length, ...parts })).rejects.toThrow(
      /was cut/u,
    );
    const cut = await createFileBody(file, 0, 6 * 1024 ** 2);
    await truncate(file, 1024 ** 2);
    await expect(client.send({ method: 'PUT', key: 'parts/t/cut', body: cut }, discard)).rejects.toThrow(/was cut/u);
    await withStore(inBucket('parts'), server.env, async (store) => {
      expect((await readFile(await store.locate('t/large'))).equals(content)).toBe(true);
      expect((await store.list('t')).map(({ path }) => path)).toEqual(['t/large']);
    });
    expect(await client.send({ method: 'GET', key: '', query: { uploads: '' } }, readAnswer)).not.toContain(
      '<UploadId>',
    );
  });

  test('has each run, is verified, and makes the warehouse again', async () => {
    const pulls = [];
    for (const night of [1, 2]) {
      const pulled = await run(['pull', '--json', ...SOURCES]);
      expect([night, pulled.exit, pulled.json()]).toMatchObject([night, 0, { lake: { problem: null } }]);
      pulls.push(pulled.json());
      project.sandbox.tick();
    }
    expect((await run(['lake', 'publish'])).stdout).toContain(`${inBucket('fleet/lake')} has every run up to`);
    const verified = await run(['lake', 'verify', '--json']);
    expect([verified.exit, verified.json()]).toMatchObject([0, { problems: [], unnamed: 0 }]);
    const query = ['sql', '--json', 'select * from workspaces_history order by all'];
    const before = (await run(query)).stdout;
    await rm(join(project.folder, 'data'), { recursive: true });
    const restored = await run(['lake', 'restore']);
    expect([restored.exit, restored.stderr]).toEqual([0, '']);
    expect((await run(query)).stdout).toBe(before);
    expect(pulls).toHaveLength(2);
  });

  test('is reported by DuckDB, and described for engines at its address', async () => {
    const fleet = await run(['report', 'fleet', '--json']);
    expect([fleet.exit, fleet.stderr, fleet.json()]).toMatchObject([0, '', { summary: { workspaces: 8 } }]);
    const ddl = await run(['lake', 'ddl', '--engine', 'duckdb']);
    expect(ddl.stdout).toContain(`delta_scan('${inBucket('fleet/lake')}/workspaces_changes')`);
  });

  test('verify names a file that is gone or changed; vacuum removes what no commit names', async () => {
    const files = (await objects('fleet/lake/workspaces_changes')).filter((name) => name.endsWith('.parquet'));
    const path = join(server.folder, 'fleet/lake/workspaces_changes', files[0] ?? '');
    const content = await readFile(path);
    const [keys = ''] = (await objects('fleet/lake/keys_changes')).filter((name) => name.endsWith('.parquet'));
    const changed = join(server.folder, 'fleet/lake/keys_changes', keys);
    const before = await readFile(changed);
    await writeFile(changed, randomBytes(before.length));
    await rm(path);
    const broken = await run(['lake', 'verify']);
    expect(broken).toMatchObject({ exit: 4, stderr: expect.stringContaining('is missing') });
    expect(broken.stderr).toContain('has another checksum');
    await writeFile(changed, before);
    await project.configure((config) => {
      config.data = './elsewhere';
    });
    expect(await run(['lake', 'restore'])).toMatchObject({ exit: 4, stderr: expect.stringContaining('is missing') });
    expect(await readdir(join(project.folder, 'elsewhere', 'lake-files'))).toEqual([]);
    await project.configure((config) => {
      config.data = './data';
    });
    await withStore(inBucket('fleet/lake'), server.env, async (store) => {
      const scratch = await store.scratch();
      await writeFile(scratch, content);
      await store.putFile(`workspaces_changes/${files[0]}`, scratch);
      await store.put('workspaces_changes/month=2026-10/stray.parquet', 'x');
    });
    expect(
      (await run(['lake', 'vacuum', '--older-than', String(DAY_HOURS), '--now', '2020-01-01T00:00:00Z'])).stdout,
    ).toContain('0 files');
    expect((await run(['lake', 'vacuum', '--now', '2100-01-01T00:00:00Z'])).stdout).toBe('1 file, 1 byte removed\n');
    expect(await run(['lake', 'verify'])).toMatchObject({ exit: 0 });
  });

  test('keeps no copies after a command, and no secret anywhere', async () => {
    expect(await readdir(join(project.folder, 'data', 'lake-files'))).toEqual([]);
    const written = await readdir(project.folder, { recursive: true, withFileTypes: true });
    for (const entry of written.filter((one) => one.isFile())) {
      const content = await readFile(join(entry.parentPath, entry.name));
      expect([entry.name, content.includes(server.env.AWS_SECRET_ACCESS_KEY ?? '')]).toEqual([entry.name, false]);
    }
  });

  test('is closed from shards, and two closers at once close it once', async () => {
    await project.configure((config) => {
      config.lake = inBucket('shards');
      // The platform is in shard 2, the other services are in shard 1.
      for (const target of config.targets) target.credential = target.kind === 'platform' ? 'platform' : 'others';
    });
    for (const shard of ['1/2', '2/2']) {
      const pulled = await run(['--shard', shard, 'pull', '--json', ...SOURCES]);
      if (pulled.stdout === '') throw new Error(pulled.stderr);
      expect([shard, pulled.exit, pulled.json()]).toMatchObject([shard, 0, { lake: { problem: null } }]);
    }
    expect(existsSync(join(server.folder, 'shards', 'runs_changes', '_delta_log'))).toBe(false);
    const close = ['lake', 'close', '--shards', '2', '--json'];
    const closed = await Promise.all([run(close), run(close)]);
    expect(closed.map(({ exit, stderr }) => [exit, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    const fleet = await run(['report', 'fleet', '--json']);
    expect(fleet.json()).toMatchObject({ summary: { workspaces: 8 } });
    expect(await run(['lake', 'verify'])).toMatchObject({ exit: 0 });
  });
});
