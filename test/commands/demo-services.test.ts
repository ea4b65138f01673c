import { expect, test } from 'vitest';
import { chooseFirstPort } from '../../src/commands/demo-services.ts';

test('demos in two folders have services of their own, always on the same ports', () => {
  const folders = ['/home/a/demo', '/home/b/demo', '/srv/demo'];
  const ports = folders.map(chooseFirstPort);
  expect(new Set(ports.map((port) => Math.floor(port / 5))).size).toBe(folders.length);
  expect(folders.map(chooseFirstPort)).toEqual(ports);
  for (const port of ports) expect([port >= 20_000, port < 32_768, port % 5]).toEqual([true, true, 0]);
});
