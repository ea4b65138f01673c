import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TidemarkError } from './errors.ts';

/** The root of the package, with queries/, reports/ and jobs/: the nearest folder above this module with a package.json. */
export const PACKAGE_ROOT = findPackageRoot(dirname(fileURLToPath(import.meta.url)));

function findPackageRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : findPackageRoot(dirname(folder));
}

/** The roots in which files are looked up, in order: the directory of the configuration, then the package. */
export function overlayRoots(configDirectory: string): readonly string[] {
  return configDirectory === PACKAGE_ROOT ? [PACKAGE_ROOT] : [configDirectory, PACKAGE_ROOT];
}

/**
 * Whether a person keeps something at a path.
 * @throws TidemarkError CONFIG for a link into a folder that is not mounted, Error for what may not be looked at: it is unknown, and not absent
 */
export function isPresent(path: string): boolean {
  if (existsSync(path)) return true;
  // The root of a drive that is not there is above itself.
  for (let part = path; !existsSync(part) && part !== dirname(part); part = dirname(part)) {
    if (lstatSync(part, { throwIfNoEntry: false }))
      throw new TidemarkError('CONFIG', `${part} is a link to what does not exist`);
  }
  return false;
}

/** The absolute path of `relative` in the first root that has it. @throws as `isPresent` */
export function findFile(roots: readonly string[], relative: string): string | undefined {
  return roots.map((root) => join(root, relative)).find(isPresent);
}

/**
 * Files with `extension` directly in `folder` of the roots, as name → path. The earlier root wins, so a user's file overrides
 * the package's file of the same name.
 * @throws as `isPresent`
 */
export function discoverFiles(roots: readonly string[], folder: string, extension: string) {
  const found = new Map<string, string>();
  for (const root of roots) {
    const directory = join(root, folder);
    if (!isPresent(directory)) continue;
    for (const file of readdirSync(directory).sort()) {
      const name = file.slice(0, -extension.length);
      // An editor's hidden file, such as `.#own.sql`, is none of them.
      if (file.endsWith(extension) && !file.startsWith('.') && !found.has(name)) found.set(name, join(directory, file));
    }
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

export const version: string = (
  JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as { version: string }
).version;
