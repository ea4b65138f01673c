import { execFileSync, spawnSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { tempFolder } from '../../helpers/temp.ts';

const SCRIPT = join(PACKAGE_ROOT, 'scripts', 'release.js');

interface Repository {
  readonly folder: string;
  git(...words: string[]): string;
  write(name: string, text: string): Promise<void>;
  commit(): void;
  release(): { readonly exit: number | null; readonly stdout: string; readonly stderr: string };
}

const manifest = (more: object = {}) =>
  JSON.stringify({
    name: 'released',
    version: '1.2.0',
    files: ['dist'],
    scripts: { check: 'test -e passes', build: 'mkdir -p dist && date > dist/built' },
    ...more,
  });

/** A package in a repository, ready for a release. */
async function createRepository(): Promise<Repository> {
  const folder = await tempFolder();
  const git = (...words: string[]) => execFileSync('git', words, { cwd: folder, encoding: 'utf8' }).trim();
  const write = (name: string, text: string) => writeFile(join(folder, name), text);
  const commit = () => {
    git('add', '--all');
    git(
      '-c',
      'user.name=maintainers',
      '-c',
      'user.email=maintainers@acme.example',
      'commit',
      '--quiet',
      '-m',
      'release',
    );
  };
  git('init', '--quiet');
  await write('package.json', manifest());
  await write('package-lock.json', JSON.stringify({ version: '1.2.0', packages: { '': { version: '1.2.0' } } }));
  await write('CHANGELOG.md', '# Changelog\n\n## 1.2.0\n\n- more\n\n## 1.1.0\n');
  await write('.gitignore', 'node_modules\n*.tgz\ndist\n');
  await write('passes', '');
  await mkdir(join(folder, 'node_modules'));
  commit();
  const release = () => {
    const { status, stdout, stderr } = spawnSync('node', [SCRIPT], { cwd: folder, encoding: 'utf8' });
    return { exit: status, stdout, stderr };
  };
  return { folder, git, write, commit, release };
}

/** package.json and the names in the tarball. */
function open(folder: string): { readonly manifest: Record<string, unknown>; readonly names: readonly string[] } {
  const tar = (...words: string[]) => execFileSync('tar', words, { cwd: folder, encoding: 'utf8' });
  return {
    manifest: JSON.parse(tar('-xzOf', 'released-1.2.0.tgz', 'package/package.json')),
    names: tar('-tzf', 'released-1.2.0.tgz').trim().split('\n').sort(),
  };
}

test('a release is a tarball of what is committed, built, with the addresses of the remote', async () => {
  const repository = await createRepository();
  await mkdir(join(repository.folder, 'dist'));
  await repository.write('dist/stale', 'from an earlier build');
  repository.git('remote', 'add', 'origin', 'git@git.acme.example:platform/released.git');
  const { exit, stdout, stderr } = repository.release();
  expect({ exit, stderr: stderr.replaceAll(/^npm .*\n/gmu, '') }).toEqual({ exit: 0, stderr: '' });
  expect(stdout).toMatch(
    /^released-1\.2\.0\.tgz\nsha256 [0-9a-f]{64}\ninstall it with: npm install --global \.\/released-1\.2\.0\.tgz\n$/mu,
  );
  const { manifest: released, names } = open(repository.folder);
  expect(names).toEqual(['package/dist/built', 'package/package.json']);
  expect(names).not.toContain('package/dist/stale');
  expect(released).not.toHaveProperty('scripts');
  expect(released).toMatchObject({
    homepage: 'https://git.acme.example/platform/released#readme',
    bugs: { url: 'https://git.acme.example/platform/released/issues' },
    repository: { type: 'git', url: 'git+https://git.acme.example/platform/released.git' },
  });
  expect(repository.git('status', '--porcelain')).toBe('');
});

test('without a remote on a server the tarball has no addresses, and that is said', async () => {
  const repository = await createRepository();
  repository.git('remote', 'add', 'origin', '/srv/git/released');
  const { exit, stdout } = repository.release();
  expect(exit).toBe(0);
  expect(stdout).toContain('It has no repository, homepage and bugs');
  expect(open(repository.folder).manifest).not.toHaveProperty('repository');
});

test.each<[string, (repository: Repository) => unknown, RegExp]>([
  ['a changed file', ({ write }) => write('passes', 'changed'), /changes that are not committed:\nM passes/u],
  ['a new file', ({ write }) => write('new', ''), /changes that are not committed:\n\?\? new/u],
  ['a private package', ({ write }) => write('package.json', manifest({ private: true })), /package\.json is private/u],
  [
    'a version that is none',
    ({ write }) => write('package.json', manifest({ version: '1.2' })),
    /1\.2 in package\.json is not a version/u,
  ],
  [
    'a version that the lock file does not have',
    ({ write }) => write('package.json', manifest({ version: '1.3.0' })),
    /package-lock\.json has version 1\.2\.0, package\.json 1\.3\.0/u,
  ],
  [
    'changes without a version',
    ({ write }) => write('CHANGELOG.md', '## Unreleased\n\n- more\n\n## 1.2.0\n'),
    /first section of CHANGELOG\.md is "Unreleased", not "1\.2\.0"/u,
  ],
  ['a failing check', ({ git }) => git('rm', '--quiet', 'passes'), /npm run check failed/u],
])('%s is not released', async (name, change, reason) => {
  const repository = await createRepository();
  await change(repository);
  if (!/changed|new/u.test(name)) repository.commit();
  const { exit, stderr } = repository.release();
  expect(exit).toBe(1);
  expect(stderr).toMatch(/^not released: /mu);
  expect(stderr).toMatch(reason);
  await expect(readFile(join(repository.folder, 'released-1.2.0.tgz'))).rejects.toThrow(/ENOENT/u);
});

test('a version whose tag is at another commit is not released', async () => {
  const repository = await createRepository();
  repository.git('tag', 'v1.2.0');
  expect(repository.release().exit).toBe(0);
  await repository.write('more', '');
  repository.commit();
  expect(repository.release()).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('the tag v1.2.0 is at another commit'),
  });
});

test('a check that leaves the checkout changed is not released', async () => {
  const repository = await createRepository();
  await repository.write('package.json', manifest({ scripts: { check: 'echo changed > passes', build: 'true' } }));
  repository.commit();
  expect(repository.release()).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('changes that are not committed'),
  });
});
