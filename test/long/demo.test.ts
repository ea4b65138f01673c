import { expect, test } from 'vitest';
import { buildCommand, startCommand } from '../helpers/built-command.ts';
import { tempFolder } from '../helpers/temp.ts';

test('the demo without options plays ten nights, with the incident among them', async () => {
  const { exit, stderr } = await startCommand(await buildCommand(), ['demo'], await tempFolder()).ended;
  expect(exit, stderr).toBe(0);
  expect(stderr.match(/^night /gmu)).toHaveLength(10);
  expect(stderr).toMatch(/^night {2}5 .*the platform answers 503/mu);
});
