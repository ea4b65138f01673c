import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { discoverFiles, findFile, PACKAGE_ROOT } from '../../src/core/paths.ts';
import { tempFolder } from '../helpers/temp.ts';

test.each(['queries', 'queries/findings', 'queries/findings/drifted-workspace.sql'])(
  'a file of a user is not replaced by that of the package where a link to it leads nowhere: %s',
  async (name) => {
    const folder = await tempFolder();
    const path = join(folder, name);
    await mkdir(join(path, '..'), { recursive: true });
    await symlink(join(folder, 'not-mounted'), path);
    const roots = [folder, PACKAGE_ROOT];
    const message = `${path} is a link to what does not exist`;
    expect(() => findFile(roots, 'queries/findings/drifted-workspace.sql')).toThrow(message);
    if (!name.endsWith('.sql')) expect(() => discoverFiles(roots, 'queries/findings', '.sql')).toThrow(message);
  },
);

test('a file that a user does not have is that of the package', async () => {
  const roots = [await tempFolder(), PACKAGE_ROOT];
  const relative = 'queries/findings/drifted-workspace.sql';
  expect(findFile(roots, relative)).toBe(join(PACKAGE_ROOT, relative));
  expect(discoverFiles(roots, 'queries/findings', '.sql').get('drifted-workspace')).toBe(join(PACKAGE_ROOT, relative));
});
