import { spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Config } from '../../../src/config/config.ts';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { packLandings } from '../../../src/landing/pack.ts';
import { landingDirectory, type Manifest, readManifests, withLandingFiles } from '../../../src/landing/store.ts';
import { buildModules } from '../../helpers/built-modules.ts';
import { landLines } from '../../helpers/landings.ts';
import { tempFolder } from '../../helpers/temp.ts';

const PROGRAM = join(PACKAGE_ROOT, 'test', 'helpers', 'pack-until.js');
const RUN = '20261101T021500Z';
const SOURCES = ['keys', 'mesh_roles'];

test('after a kill before any step of packing, every source is read as it landed, and the next packing completes', async () => {
  const modules = await buildModules();
  let kills = 0;
  for (let step = 1; kills === step - 1; step++) {
    const config = { data: join(await tempFolder(), 'data') } as Config;
    const landed = new Map<string, string>();
    for (const source of SOURCES) {
      const manifest = await landLines(config, { runId: RUN, target: 'vault', source }, [{ name: source }]);
      landed.set(source, await load(config, manifest));
    }
    if (packUntil(modules, config, step)) kills += 1;
    await expectLanded(config, landed, step);
    await packLandings(config, [RUN], new AbortController().signal, (_, error) => expect.fail(String(error)));
    await expectLanded(config, landed, step);
    expect(await readdir(landingDirectory(config, RUN, 'vault')), `step ${step}`).toEqual(['landing.tar']);
  }
  expect(kills, 'each write, the sync, the rename and each removal is a step').toBeGreaterThan(15);
});

/** @returns whether the process was killed */
function packUntil(modules: string, { data }: Config, step: number): boolean {
  const { signal, status, stderr } = spawnSync(process.execPath, [PROGRAM, modules, data, RUN, String(step)], {
    encoding: 'utf8',
  });
  expect(signal ?? status, stderr).toBeOneOf(['SIGKILL', 0]);
  return signal === 'SIGKILL';
}

async function expectLanded(config: Config, landed: ReadonlyMap<string, string>, step: number): Promise<void> {
  const { manifests } = await readManifests(config, RUN);
  expect([...manifests.keys()].sort(), `step ${step}`).toEqual(SOURCES.map((source) => `vault/${source}`));
  for (const manifest of manifests.values()) {
    expect(await load(config, manifest), `step ${step}`).toBe(landed.get(manifest.source));
  }
}

const load = (config: Config, manifest: Manifest) =>
  withLandingFiles(config, manifest, () =>
    readFile(join(landingDirectory(config, RUN, 'vault'), `${manifest.source}.ndjson`), 'utf8'),
  );
