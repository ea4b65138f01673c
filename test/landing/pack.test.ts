import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Config } from '../../src/config/config.ts';
import { packLandings } from '../../src/landing/pack.ts';
import {
  landingDirectory,
  type Manifest,
  readManifests,
  unpackedBytes,
  withLandingFiles,
} from '../../src/landing/store.ts';
import { formatTarHeader, TAR_BLOCK } from '../../src/landing/tar.ts';
import { type LandedLines, landLines, unpackLandings } from '../helpers/landings.ts';
import { tempFolder } from '../helpers/temp.ts';

const RUN = '20261101T021500Z';
const LINES = Array.from({ length: 500 }, (_, id) => ({ id, name: `workspace-${id}` }));

let config: Config;

beforeEach(async () => {
  const folder = await tempFolder();
  config = { data: join(folder, 'data') } as Config;
});

const land = (source: string, lines: LandedLines = LINES, target = 'acme') =>
  landLines(config, { runId: RUN, target, source }, lines);
const directory = (target = 'acme') => landingDirectory(config, RUN, target);
const archive = () => join(directory(), 'landing.tar');

/** @returns the folders that stayed unpacked, with the reason */
async function pack(signal = new AbortController().signal): Promise<readonly string[]> {
  const failed: string[] = [];
  await packLandings(config, [RUN], signal, (folder, error) => failed.push(`${folder}: ${(error as Error).message}`));
  return failed;
}

const load = (manifest: Manifest) =>
  withLandingFiles(config, manifest, () => readFile(join(directory(manifest.target), manifest.files[0]!.file), 'utf8'));

test('the sources of a target become one smaller file, which tar and gunzip open', async () => {
  const manifests = [await land('keys'), await land('workspaces'), await land('empty', [])];
  const before = await unpackedBytes(directory());
  expect(await pack()).toEqual([]);
  expect(await readdir(directory())).toEqual(['landing.tar']);
  expect((await stat(archive())).size).toBeLessThan(before / 2);
  const listed = execFileSync('tar', ['-tvf', archive()], { encoding: 'utf8', env: { TZ: 'UTC' } });
  expect(listed).toMatch(/^-rw------- .* 2026-11-01 02:15 keys\.json\n/mu);
  await unpackLandings(join(config.data, '..'));
  expect((await readdir(directory())).sort()).toEqual([
    'empty.json',
    'keys.json',
    'keys.ndjson',
    'workspaces.json',
    'workspaces.ndjson',
  ]);
  for (const { files } of manifests) {
    for (const { file, sha256 } of files) {
      const content = await readFile(join(directory(), file));
      expect(createHash('sha256').update(content).digest('hex')).toBe(sha256);
    }
  }
});

test('manifests and files are read from the archive, and the folder stays packed', async () => {
  const manifest = await land('keys');
  const text = await load(manifest);
  await pack();
  expect((await readManifests(config, RUN)).manifests).toEqual(new Map([['acme/keys', manifest]]));
  expect(await load(manifest)).toBe(text);
  expect(await readdir(directory())).toEqual(['landing.tar']);
  await expect(withLandingFiles(config, manifest, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  expect(await readdir(directory())).toEqual(['landing.tar']);
});

test('the size of an unpacked landing is known without unpacking it', async () => {
  const { files } = await land('keys');
  await pack();
  expect(await unpackedBytes(directory())).toBe(files[0]!.bytes);
});

test('what is rejected, incomplete or not ours stays as it is; what a kill has left is removed', async () => {
  await land('keys');
  const { files } = await land('volumes');
  await rm(join(directory(), files[0]!.file));
  for (const name of ['agents.csv.rejected', 'lost.ndjson', 'mine.txt', 'agents.csv.part', 'torn.json'])
    await writeFile(join(directory(), name), '{');
  await pack();
  const kept = ['agents.csv.rejected', 'landing.tar', 'lost.ndjson', 'mine.txt', 'torn.json', 'volumes.json'];
  expect((await readdir(directory())).sort()).toEqual(kept);
  expect([...(await readManifests(config, RUN)).manifests.keys()].sort()).toEqual(['acme/keys', 'acme/volumes']);
});

test('a folder without a complete source gets no archive', async () => {
  await mkdir(directory(), { recursive: true });
  await writeFile(join(directory(), 'agents.csv.rejected'), 'x');
  expect(await pack()).toEqual([]);
  expect(await readdir(directory())).toEqual(['agents.csv.rejected']);
});

test.each(['landing.tar', '2026-10-01', '1e3', 'a.json', 'a..b', 'CON', 'x'.repeat(200)])(
  'a target named %s is packed, and read again',
  async (target) => {
    const manifest = await land('keys', LINES, target);
    const other = await land('keys', LINES, 'landing');
    await pack();
    expect(await readdir(directory(target))).toEqual(['landing.tar']);
    for (const one of [manifest, other]) expect(await load(one)).toContain('workspace-499');
  },
);

test('a source whose name a tar file cannot have stays unpacked', async () => {
  const manifest = await land('k'.repeat(120));
  await land('keys');
  await pack();
  expect((await readdir(directory())).sort()).toEqual([
    `${'k'.repeat(120)}.json`,
    `${'k'.repeat(120)}.ndjson`,
    'landing.tar',
  ]);
  expect(await load(manifest)).toContain('workspace-499');
});

const manyLines = (rows: number) =>
  Array.from({ length: rows }, (_, id) => ({ id, name: `workspace-${id}`, tags: `${id}`.repeat(10) }));

test('files of many megabytes are packed beside small ones, and tar and gunzip open them', async () => {
  const manifests = [
    await land('keys', manyLines(110_000)),
    await land('few'),
    await land('modules', manyLines(60_000)),
  ];
  expect(manifests[0]!.files[0]!.bytes).toBeGreaterThan(8 * 1024 * 1024); // three pieces
  const texts = await Promise.all(manifests.map(load));
  expect(await pack()).toEqual([]);
  expect(await readdir(directory())).toEqual(['landing.tar']);
  expect(await Promise.all(manifests.map(load))).toEqual(texts);
  await unpackLandings(join(config.data, '..'));
  expect(await readFile(join(directory(), 'keys.ndjson'), 'utf8')).toBe(texts[0]);
});

test('a large file that cannot be read leaves the folder as it was', async () => {
  const manifest = await land('keys', manyLines(60_000));
  const [file, aside] = [join(directory(), 'keys.ndjson'), join(directory(), 'aside')];
  await rename(file, aside);
  await mkdir(file);
  const before = await readdir(directory());
  expect(await pack()).toEqual([expect.stringMatching(/acme: .*EISDIR/u)]);
  expect(await readdir(directory())).toEqual(before);
  await rm(file, { recursive: true });
  await rename(aside, file);
  expect(await pack()).toEqual([]);
  expect(await readdir(directory())).toEqual(['landing.tar']);
  expect(await load(manifest)).toContain('workspace-59999');
});

test('a large file that was emptied is refused, and the sources beside it can be read', async () => {
  const [emptied, other] = [await land('keys', manyLines(60_000)), await land('modules')];
  await truncate(join(directory(), 'keys.ndjson'), 0);
  expect(await pack()).toEqual([]);
  expect(await load(other)).toContain('workspace-499');
  await expect(load(emptied)).rejects.toThrow('keys.ndjson was changed after the extraction');
});

test('many manifests that do not fit in the first read are found', async () => {
  const names = Array.from({ length: 70 }, (_, index) => `source_${index}`);
  const landed = await Promise.all(names.map((name) => land(name, [{ id: 1 }])));
  await pack();
  const { manifests } = await readManifests(config, RUN);
  expect(manifests.size).toBe(70);
  expect((await stat(archive())).size).toBeGreaterThan(2 * 65_536);
  for (const manifest of [landed[0]!, landed[69]!]) expect(await load(manifest)).toBe('{"id":1}\n');
});

test('a folder that cannot be packed is reported, stays as it is, and is packed the next time', async () => {
  const manifest = await land('keys');
  await land('keys', LINES, 'other');
  await mkdir(`${archive()}.part`);
  expect(await pack()).toEqual([expect.stringMatching(/acme: EISDIR/u)]);
  expect(await load(manifest)).toContain('workspace-499');
  expect(await readdir(directory('other'))).toEqual(['landing.tar']);
  await rm(`${archive()}.part`, { recursive: true });
  expect(await pack()).toEqual([]);
  expect(await readdir(directory())).toEqual(['landing.tar']);
});

test('a file of the user beside the landings stays', async () => {
  await land('keys');
  const file = join(config.data, 'landing', `${RUN}.tar.gz`);
  await writeFile(file, 'mine');
  await packLandings(config, [`${RUN}.tar.gz`, RUN], new AbortController().signal, (_, error) =>
    expect.fail(String(error)),
  );
  expect(await readdir(directory())).toEqual(['landing.tar']);
  expect(await readFile(file, 'utf8')).toBe('mine');
});

test('a run that is aborted waits for no large file, and leaves the folder as it was', async () => {
  const manifest = await land('keys', manyLines(110_000));
  const before = await readdir(directory());
  const stop = new AbortController();
  const packed = pack(stop.signal);
  while (!existsSync(`${archive()}.part`)) await setImmediate();
  stop.abort();
  expect(await packed).toEqual([]);
  expect(await readdir(directory())).toEqual(before);
  expect(await load(manifest)).toContain('workspace-109999');
});

test('nothing is packed once the run is aborted', async () => {
  await land('keys');
  await pack(AbortSignal.abort());
  expect((await readdir(directory())).sort()).toEqual(['keys.json', 'keys.ndjson']);
});

describe('a damaged archive', () => {
  let manifest: Manifest;
  beforeEach(async () => {
    manifest = await land('keys');
    await pack();
  });

  /** Overwrites bytes of the archive. */
  async function spoil(at: number, bytes: string | Buffer) {
    const content = await readFile(archive());
    await writeFile(
      archive(),
      Buffer.concat([content.subarray(0, at), Buffer.from(bytes), content.subarray(at + bytes.length)]),
    );
  }

  test.each([0, 100, 600, 1024])('of %i bytes is reported in one line that names it', async (bytes) => {
    await truncate(archive(), bytes);
    const { manifests, damaged } = await readManifests(config, RUN);
    expect(damaged.get('acme')?.message ?? '').toMatch(/^the archive .*landing\.tar is damaged at byte \d+$/u);
    expect(manifests.size).toBe(0);
  });

  test('whose end is missing is reported when a file is read', async () => {
    await truncate(archive(), (await stat(archive())).size - 2 * TAR_BLOCK);
    await expect(load({ ...manifest, files: [{ ...manifest.files[0]!, file: 'other.ndjson' }] })).rejects.toThrow(
      /^the archive .* is damaged at byte \d+$/u,
    );
  });

  test('with another byte in a header is reported', async () => {
    await spoil(10, 'x');
    expect((await readManifests(config, RUN)).damaged.get('acme')?.message).toMatch(/damaged at byte 0$/u);
  });

  test('with other bytes in a compressed file is reported, and nothing of it stays', async () => {
    const { size } = await stat(archive());
    await spoil(size - 3 * TAR_BLOCK - 100, 'spoilt');
    await expect(load(manifest)).rejects.toThrow(/^the archive .* is damaged at keys\.ndjson\.gz$/u);
    expect(await readdir(directory())).toEqual(['landing.tar']);
  });

  test('whose file is another one is refused by its checksum', async () => {
    await expect(load({ ...manifest, files: [{ ...manifest.files[0]!, sha256: 'other' }] })).rejects.toThrow(
      'the landing file keys.ndjson was changed after the extraction',
    );
    expect(await readdir(directory())).toEqual(['landing.tar']);
  });

  test('whose file would become much larger is refused before it does', async () => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    const header = formatTarHeader({ name: 'keys.ndjson.gz', bytes: bomb.length, modifiedSeconds: 0 });
    const padding = Buffer.alloc((TAR_BLOCK - (bomb.length % TAR_BLOCK)) % TAR_BLOCK);
    await writeFile(archive(), Buffer.concat([header, bomb, padding, Buffer.alloc(2 * TAR_BLOCK)]));
    await expect(load(manifest)).rejects.toThrow('the landing file keys.ndjson was changed after the extraction');
    expect(await readdir(directory())).toEqual(['landing.tar']);
  });

  test('counts as not packed for the size of the landing', async () => {
    await truncate(archive(), 0);
    expect(await unpackedBytes(directory())).toBe(0);
  });
});

test('an archive that was written by tar itself is read', async () => {
  const manifest = await land('keys');
  const text = await load(manifest);
  execFileSync('gzip', ['keys.ndjson'], { cwd: directory() });
  execFileSync('tar', ['--format=ustar', '-cf', 'made.tar', 'keys.json', 'keys.ndjson.gz'], { cwd: directory() });
  for (const name of ['keys.json', 'keys.ndjson.gz']) await rm(join(directory(), name));
  await rename(join(directory(), 'made.tar'), archive());
  expect((await readManifests(config, RUN)).manifests).toEqual(new Map([['acme/keys', manifest]]));
  expect(await load(manifest)).toBe(text);
});
