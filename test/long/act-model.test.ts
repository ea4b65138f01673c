import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import type { FaultHook } from '../../sandbox/router.ts';
import { ledgerFile } from '../../src/act/ledger.ts';
import { recordFingerprint, warehouseFiles } from '../../src/warehouse/publish.ts';
import { ActModel, MODELLED, type ModelledPlaybook, type ModelStart, subjectOf } from '../helpers/act-model.ts';
import { copyWarehouse } from '../helpers/change-warehouse.ts';
import { copyState, type PlaybookHarness, playbookHarness, restoreState } from '../helpers/playbook-harness.ts';

/** `TIDEMARK_SEED=N` begins with that sequence, and `TIDEMARK_SEQUENCES=N` runs so many of each playbook. */
const { TIDEMARK_SEED, TIDEMARK_SEQUENCES = '100' } = process.env;
const FIRST = Number(TIDEMARK_SEED ?? Math.floor(Math.random() * 1e6));
const STEPS = 9;
const LAG_SECONDS = 0.01;

async function writeNightly({ folder }: PlaybookHarness, { playbook }: ModelledPlaybook): Promise<void> {
  const job = parse(await readFile(join(folder, 'jobs', 'playbook.yaml'), 'utf8')) as object;
  const playbooks = [{ name: playbook, mode: 'apply', approvedBy: 'ops' }];
  await writeFile(join(folder, 'jobs', 'nightly.yaml'), stringify({ ...job, playbooks }));
}

/** Keeps the warehouse of the first run. @returns what puts it back, without ledger and plans */
async function keepFirstRun({ folder }: PlaybookHarness): Promise<() => Promise<void>> {
  const data = join(folder, 'data');
  const { published, work } = warehouseFiles(data);
  const kept = [published, work].map((file, index) => [file, join(folder, `kept-${index}`)] as const);
  for (const [file, copy] of kept) await copyFile(file, copy);
  return async () => {
    for (const file of [ledgerFile(data), join(data, 'plans'), published, work])
      await rm(file, { recursive: true, force: true });
    for (const [file, copy] of kept) await copyWarehouse(copy, file);
    await recordFingerprint(work);
  };
}

describe.each(MODELLED)('$playbook', (modelled) => {
  test(`from seed ${FIRST}: it acts once on what is approved, and tells what was done, whatever happens`, async () => {
    let hook: FaultHook | undefined;
    const { playbook, sources = [] } = modelled;
    const place = await playbookHarness({ playbook, sources, faultHook: (...asked) => hook?.(...asked) });
    await place.configure(({ targets }) => {
      for (const target of targets) target.lag = LAG_SECONDS;
    });
    if (modelled.isReversible) await writeNightly(place, modelled);
    const initial = copyState(place);
    const restore = await keepFirstRun(place);
    const { actions } = await place.plan(['--max-percent', '100']);
    const look = (): ModelStart['planned'] =>
      new Map(actions.map(subjectOf).map((subject) => [subject, modelled.look(place.sandbox.services, subject)]));
    const planned = look();
    await place.approve();
    await place.apply();
    const start = { place, modelled, initial, planned, done: look() };
    for (let seed = FIRST; seed < FIRST + Number(TIDEMARK_SEQUENCES); seed++) {
      restoreState(place, initial);
      await restore();
      const model = new ActModel(start, seed);
      hook = model.hook;
      await model.run(STEPS);
      hook = undefined;
      expect(model.problems, `TIDEMARK_SEED=${seed}\n${model.trace.join('\n')}`).toEqual([]);
    }
  });
});
