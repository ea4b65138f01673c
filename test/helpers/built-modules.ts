import { mkdir, symlink } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { rolldown } from 'rolldown';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { prepareOnce } from './prepared.ts';

/** The modules of src/ that programs of tests load, without the suffix. */
const MODULES = ['config/config', 'core/redact/redactor', 'lake/publish', 'lake/store', 'warehouse/lock'];
const LINKED = ['queries', 'node_modules', 'package.json'];

/** Compiles modules once in a run of the tests, for programs that run in Node alone. Returns the folder that has them. */
export async function buildModules(): Promise<string> {
  const root = await prepareOnce('modules', async (folder) => {
    await mkdir(folder, { recursive: true });
    for (const name of LINKED) await symlink(join(PACKAGE_ROOT, name), join(folder, name));
    const input = Object.fromEntries(MODULES.map((name) => [name, join(PACKAGE_ROOT, 'src', `${name}.ts`)]));
    const isPackage = (id: string) => !id.startsWith('.') && !isAbsolute(id);
    const build = await rolldown({ input, platform: 'node', external: isPackage });
    await build.write({ dir: join(folder, 'modules'), format: 'esm' });
    await build.close();
  });
  return join(root, 'modules');
}
