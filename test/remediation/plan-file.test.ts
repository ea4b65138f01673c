import { execFileSync } from 'node:child_process';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Plan, readPlan, writePlan } from '../../src/act/plan-file.ts';
import { findPlan, keepPlan, listPlanIds, planFile, readKeptPlan } from '../../src/act/plan-store.ts';
import { canonicalJson } from '../../src/core/canonical-json.ts';
import { tempFolder } from '../helpers/temp.ts';
import { buildTestPlan, withTestApproval } from './test-plans.ts';

type Path = readonly (string | number)[];

/** Every path in a value, those of objects and lists included. */
function listPaths(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Object.entries(value).flatMap(([name, each]) => listPaths(each, [...path, name]));
  return path.length === 0 ? inner : [path, ...inner];
}

function changeAt(plan: Plan, path: Path, change: (holder: Record<string, unknown>, name: string) => void): unknown {
  const copy = structuredClone(plan);
  const holder = path.slice(0, -1).reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], copy);
  change(holder as Record<string, unknown>, String(path.at(-1)));
  return copy;
}

describe('a plan file', () => {
  test('that nests without an end is not JSON to be read', async () => {
    const file = join(await tempFolder(), 'plan.json');
    for (const field of ['actions', 'more']) {
      await writeFile(file, `{"digest":"x","approvals":[],"${field}":${'['.repeat(100_000)}${']'.repeat(100_000)}}`);
      await expect(readPlan(file), field).rejects.toMatchObject({ code: 'DATA', message: `${file} is not JSON` });
    }
  });

  test.runIf(process.platform !== 'win32')('that is a pipe is not waited for', async () => {
    const file = join(await tempFolder(), 'plan.json');
    execFileSync('mkfifo', [file]);
    await expect(readPlan(file)).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('cannot be read'),
    });
  });

  test('of another plan under the ID of a plan is not taken for it', async () => {
    const data = await tempFolder();
    const plan = withTestApproval(buildTestPlan(), 'the operator');
    const file = await keepPlan({ data }, plan);
    const other = 'p-20261001T021500Z-11111111';
    await cp(file, planFile({ data }, other));
    const problem = { code: 'UNSAFE', message: expect.stringContaining(`holds another plan, ${plan.plan_id}`) };
    await expect(findPlan({ data }, data, other)).rejects.toMatchObject(problem);
    expect(await readKeptPlan({ data }, other)).toBeUndefined();
    expect((await findPlan({ data }, data, plan.plan_id)).plan).toEqual(plan);
  });

  test('that would be too large to be read again is not written', async () => {
    const data = await tempFolder();
    const skipped = Array.from({ length: 17 }, (_, index) => ({
      finding_id: `f-${index}`,
      reason: 'x'.repeat(4 * 1024 * 1024),
    }));
    const plan = { ...buildTestPlan(), skipped };
    await expect(keepPlan({ data }, plan)).rejects.toMatchObject({
      code: 'DATA',
      message: `the plan is larger than 65536 KiB: ${plan.actions.length} action${plan.actions.length === 1 ? '' : 's'} and 17 skipped findings`,
      hint: expect.stringContaining('plan fewer'),
    });
    expect(await listPlanIds({ data })).toEqual([]);
  });

  test('is read as it was written', async () => {
    const file = join(await tempFolder(), 'plan.json');
    const plan = withTestApproval(buildTestPlan(), 'the operator');
    await writePlan(file, plan);
    expect(await readPlan(file)).toEqual(plan);
  });

  test('is refused when any field of it is changed, missing or added, approval included', async () => {
    const file = join(await tempFolder(), 'plan.json');
    const plan = withTestApproval(buildTestPlan(), 'the operator');
    const paths = listPaths(plan).filter((path) => !/^approvals(,0)?$/u.test(path.join()));
    expect(paths.length).toBeGreaterThan(60);
    const changes: ((holder: Record<string, unknown>, name: string) => void)[] = [
      (holder, name) => {
        const value = holder[name];
        holder[name] = typeof value === 'boolean' ? !value : typeof value === 'number' ? value + 1 : `${value} `;
      },
      (holder, name) => {
        if (Array.isArray(holder)) holder.splice(Number(name), 1);
        else delete holder[name];
      },
      (holder, name) => {
        if (Array.isArray(holder)) holder.push('more');
        else holder[`${name}_too`] = 'more';
      },
    ];
    for (const path of paths) {
      for (const change of changes) {
        await writeFile(file, JSON.stringify(changeAt(plan, path, change)));
        await expect(readPlan(file), path.join('.')).rejects.toMatchObject({ code: 'UNSAFE' });
      }
    }
  });

  test.each(['../../p-1', '/etc/p-1', 'p-1/../../x', 'a plan', ''])(
    'is refused where its ID, by which it is kept, is no ID: %s',
    async (planId) => {
      const file = join(await tempFolder(), 'plan.json');
      await writePlan(
        file,
        buildTestPlan((plan) => {
          plan.plan_id = planId;
        }),
      );
      await expect(readPlan(file)).rejects.toMatchObject({ code: 'UNSAFE' });
    },
  );

  test('may have another format and key order', async () => {
    const file = join(await tempFolder(), 'plan.json');
    const plan = withTestApproval(buildTestPlan(), 'the operator');
    await writeFile(file, canonicalJson(plan));
    expect(await readPlan(file)).toEqual(plan);
  });

  test('that shows a reader another value than the one that counts is refused', async () => {
    const file = join(await tempFolder(), 'plan.json');
    const text = JSON.stringify(withTestApproval(buildTestPlan(), 'the operator'));
    await writeFile(file, text.replace('{"', '{"playbook":"harmless","'));
    await expect(readPlan(file)).rejects.toMatchObject({
      code: 'UNSAFE',
      message: `${file} has two values under one name`,
    });
  });

  test('without its approval is not approved', async () => {
    const file = join(await tempFolder(), 'plan.json');
    await writePlan(file, { ...withTestApproval(buildTestPlan(), 'the operator'), approvals: [] });
    expect((await readPlan(file)).approvals).toEqual([]);
  });

  test('with the approval of another plan is refused', async () => {
    const file = join(await tempFolder(), 'plan.json');
    const other = withTestApproval(
      buildTestPlan((plan) => {
        plan.plan_id = 'p-other';
      }),
      'the operator',
    );
    await writePlan(file, { ...buildTestPlan(), approvals: other.approvals });
    await expect(readPlan(file)).rejects.toMatchObject({ code: 'UNSAFE' });
  });

  test('that is not JSON is a data error, one that is missing a usage error', async () => {
    const folder = await tempFolder();
    await writeFile(join(folder, 'text.json'), 'hello');
    await writeFile(join(folder, 'list.json'), '[]');
    await expect(readPlan(join(folder, 'text.json'))).rejects.toMatchObject({ code: 'DATA' });
    await expect(readPlan(join(folder, 'list.json'))).rejects.toMatchObject({ code: 'UNSAFE' });
    await expect(readPlan(join(folder, 'none.json'))).rejects.toMatchObject({ code: 'USAGE' });
  });

  test('is left unchanged when writing fails', async () => {
    const folder = await tempFolder();
    await writePlan(join(folder, 'plan.json'), buildTestPlan());
    const before = await readFile(join(folder, 'plan.json'), 'utf8');
    await expect(writePlan(join(folder, 'plan.json', 'below'), buildTestPlan())).rejects.toThrow();
    expect(await readFile(join(folder, 'plan.json'), 'utf8')).toBe(before);
  });
});
