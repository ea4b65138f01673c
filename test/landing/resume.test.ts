import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Config, Target } from '../../src/config/config.ts';
import { findResumable, markInFlight } from '../../src/extract/resume.ts';
import type { RunContext } from '../../src/extract/run-context.ts';
import {
  landingDirectory,
  listLandings,
  type Manifest,
  targetFingerprint,
  writeManifest,
} from '../../src/landing/store.ts';
import { quietContext } from '../helpers/context.ts';
import { createTarget } from '../helpers/http-service.ts';
import { tempFolder } from '../helpers/temp.ts';

const AS_OF = '2026-11-01T02:15:00.000Z';
const FIRST = '20261101T021500Z';

/** Lands a source in a run that is interrupted. @returns what the next run takes of it with this target */
async function resumeWith(changes: Partial<Target>, forged: Partial<Manifest> = {}) {
  const data = await tempFolder();
  const target = createTarget('scheduler', 'http://127.0.0.1');
  const config = { data, targets: [{ ...target, ...changes }] } as unknown as Config;
  await markInFlight(config, { run_id: FIRST, job: 'pull', started_at: AS_OF, pulls: ['scheduler/volumes'] });
  const directory = landingDirectory(config, FIRST, target.name);
  await writeManifest(directory, {
    source: 'volumes',
    target: target.name,
    service: targetFingerprint(target),
    run_id: FIRST,
    as_of: AS_OF,
    files: [],
    expected_rows: 0,
  });
  const file = join(directory, 'volumes.json');
  await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, 'utf8')), ...forged }));
  const run = {
    ...quietContext(data),
    config,
    job: 'pull',
    runId: '20261101T021500Z-2',
    asOf: new Date(AS_OF),
  } as unknown as RunContext;
  return [...(await findResumable(run, new Set(['scheduler/volumes']))).keys()];
}

test.each<[string, Partial<Target>, boolean]>([
  ['the same target', { lag: 7 }, true],
  ['another token, which may see more', { token: 'another-token' }, false],
  ['another flavor', { flavor: 'hashicorp' }, false],
  ['another namespace', { namespace: 'prod' }, false],
])('what an interrupted run has landed is taken with %s, or not', async (_, changes, isTaken) => {
  expect(await resumeWith(changes)).toEqual(isTaken ? ['scheduler/volumes'] : []);
});

test.each<Partial<Manifest>>([
  { run_id: '../../elsewhere' },
  { files: [{ file: '../volumes.ndjson.gz', format: 'ndjson', bytes: 0, sha256: '' }] },
])('a manifest that names another place is none: %j', async (forged) => {
  expect(await resumeWith({}, forged)).toEqual([]);
});

test('a folder beside the landings that is none of them is not looked into', async () => {
  const data = await tempFolder();
  for (const name of ['lost+found', FIRST]) await mkdir(join(data, 'landing', name), { recursive: true });
  expect(await listLandings({ data })).toEqual([FIRST]);
});
