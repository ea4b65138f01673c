import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createTidemark, type TidemarkOptions } from '../../src/index.ts';
import { testProject } from '../helpers/test-project.ts';

async function openLibrary(options: TidemarkOptions = {}) {
  const { folder, sandbox } = await testProject({ workspaces: 5 });
  const tidemark = await createTidemark({ config: join(folder, 'tidemark.yaml'), now: sandbox.now, ...options });
  onTestFinished(() => tidemark.close());
  return { tidemark, sandbox };
}

/** What JavaScript may give, whatever the types say. */
const any = (value: unknown) => value as never;

test('a query as of a time before the first pull is refused, because nothing is known of it', async () => {
  const { tidemark, sandbox } = await openLibrary();
  await tidemark.pull({ targets: ['consul'], sources: ['ca_roots'] });
  const count = (asOf: Date) => tidemark.query('select count(*) > 0 as any_root from ca_roots', {}, { asOf });
  await expect(count(new Date('2020-01-01T00:00:00Z'))).rejects.toMatchObject({
    code: 'USAGE',
    message: expect.stringMatching(/^2020-01-01T00:00:00.* is before the first pull, /u),
  });
  expect(await count(sandbox.now)).toEqual([{ any_root: true }]);
});

test('a pull of a name that does not exist is refused, also beside one that does', async () => {
  const { tidemark, sandbox } = await openLibrary();
  for (const [selection, message] of [
    [{ targets: ['consul', 'nmad'] }, 'unknown target nmad'],
    [{ targets: 'consul' }, 'unknown target c'],
    [{ targets: ['consul'], sources: ['ca_roots', 'leaf'] }, 'unknown source leaf'],
  ] as const) {
    await expect(tidemark.pull(any(selection))).rejects.toMatchObject({ code: 'USAGE', message });
  }
  expect(sandbox.log).toEqual([]);
});

test('a parameter that is no text, number or boolean is refused instead of being sent as a text', async () => {
  const { tidemark, sandbox } = await openLibrary();
  const { agents, explorer } = tidemark.client('acme');
  const wrong = { code: 'USAGE', message: expect.stringContaining('must be a text, a number or a boolean') };
  for (const value of [null, {}, new Date(0), () => 1]) {
    await expect(agents.delete({ id: any(value) })).rejects.toMatchObject(wrong);
    await expect(agents.list({ agentPoolId: any(value) }).next()).rejects.toMatchObject(wrong);
    const view = { type: 'workspaces', fields: [any(value)] } as const;
    await expect(explorer.query(view).next()).rejects.toMatchObject(wrong);
    await expect(tidemark.query('select $a as a', { a: any(value) })).rejects.toMatchObject(wrong);
  }
  await expect(tidemark.query('select $a as a', { a: any(undefined) })).rejects.toMatchObject(wrong);
  expect(sandbox.log).toEqual([]);
});

test('calls after close open connections again', async () => {
  const { tidemark } = await openLibrary();
  const read = () => tidemark.client('scaler').health.read();
  expect(await read()).toEqual({ alive: true });
  await tidemark.close();
  expect(await read()).toEqual({ alive: true });
});

test('many queries at the same time are no leak of listeners', async () => {
  const warn = vi.spyOn(process, 'emitWarning');
  onTestFinished(() => warn.mockRestore());
  const { tidemark } = await openLibrary();
  await tidemark.pull({ targets: ['consul'], sources: ['ca_roots'] });
  await Promise.all(Array.from({ length: 12 }, () => tidemark.query('select 1 as one')));
  expect(warn).not.toHaveBeenCalled();
});
