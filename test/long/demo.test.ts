import { expect, test } from 'vitest';
import { buildCommand, startCommand } from '../helpers/built-command.ts';
import { tempFolder } from '../helpers/temp.ts';

test('the demo without options plays a fortnight', async () => {
  const { exit, stderr } = await startCommand(await buildCommand(), ['demo'], await tempFolder()).ended;
  expect(exit, stderr).toBe(0);
  expect(stderr.match(/^night /gmu)).toHaveLength(14);
});
