import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { chooseFirstPort } from '../../src/cli/demo-services.ts';
import { cli } from '../helpers/cli.ts';
import { tempFolder } from '../helpers/temp.ts';

test('demos in two folders have services of their own, always on the same ports', () => {
  const folders = ['/home/a/demo', '/home/b/demo', '/srv/demo'];
  const ports = folders.map(chooseFirstPort);
  expect(new Set(ports.map((port) => Math.floor((port - 20_000) / 6))).size).toBe(folders.length);
  expect(folders.map(chooseFirstPort)).toEqual(ports);
  for (const port of ports) expect([port >= 20_000, port < 32_768, (port - 20_000) % 6]).toEqual([true, true, 0]);
});

test('a folder named demo that no demo made is left alone', async () => {
  const cwd = await tempFolder(onTestFinished);
  await mkdir(join(cwd, 'demo'));
  await writeFile(join(cwd, 'demo', 'mine.txt'), 'precious');
  expect(await cli(['demo'], { cwd })).toMatchObject({
    exit: 6,
    stderr: expect.stringContaining('was not made by a demo'),
  });
  expect(await readFile(join(cwd, 'demo', 'mine.txt'), 'utf8')).toBe('precious');
});
