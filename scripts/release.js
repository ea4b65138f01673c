// Makes the release tarball from the commit that is checked out, or refuses and says why. Publishes nothing.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const root = process.cwd();

class Refusal extends Error {}

/** The output of a program. */
function read(program, ...words) {
  return execFileSync(program, words, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

function readJson(name) {
  return JSON.parse(readFileSync(join(root, name), 'utf8'));
}

function assertClean() {
  const changed = read('git', 'status', '--porcelain');
  if (changed !== '') throw new Refusal(`the checkout has changes that are not committed:\n${changed}`);
}

/** The version is the same everywhere, is the newest of the changelog, and no other commit has its tag. */
function assertVersion({ version, private: isPrivate }) {
  if (isPrivate) throw new Refusal('package.json is private');
  if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/u.test(version)) throw new Refusal(`${version} in package.json is not a version`);
  const lock = readJson('package-lock.json');
  for (const locked of [lock.version, lock.packages[''].version]) {
    if (locked !== version)
      throw new Refusal(`package-lock.json has version ${locked}, package.json ${version}: run npm install`);
  }
  const [, newest] = /^## (.+)$/mu.exec(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')) ?? [];
  if (newest !== version) {
    throw new Refusal(`the first section of CHANGELOG.md is "${newest}", not "${version}": name it after the version`);
  }
  const tagged = read('git', 'tag', '--list', `v${version}`, '--format=%(objectname) %(*objectname)').split(' ');
  if (tagged[0] !== '' && !tagged.includes(read('git', 'rev-parse', 'HEAD'))) {
    throw new Refusal(`the tag v${version} is at another commit: choose the next version`);
  }
}

function check() {
  try {
    execFileSync('npm', ['run', 'check'], { cwd: root, stdio: 'inherit' });
  } catch {
    throw new Refusal('npm run check failed');
  }
}

/** Addresses for package.json, from the remote `origin` if it is on a server. */
function findAddresses() {
  let origin = '';
  try {
    origin = read('git', 'remote', 'get-url', 'origin');
  } catch {
    return {};
  }
  const [, host, path] =
    /^(?:https:\/\/|ssh:\/\/git@|git@)([\w.-]+\.[a-z]+)[:/](.+?)(?:\.git)?\/?$/u.exec(origin) ?? [];
  if (host === undefined) return {};
  const page = `https://${host}/${path}`;
  return {
    homepage: `${page}#readme`,
    bugs: { url: `${page}/issues` },
    repository: { type: 'git', url: `git+${page}.git` },
  };
}

/**
 * Builds and packs the files of the commit, in a folder of their own: what is ignored in the checkout is not in the tarball. The folder is
 * below the checkout, where packages are found: TypeScript cannot name the types of those behind a link.
 */
function pack(manifest, addresses) {
  const stage = mkdtempSync(join(root, '.release-'));
  try {
    const archive = execFileSync('git', ['archive', '--format=tar', 'HEAD'], { cwd: root, maxBuffer: 2 ** 30 });
    execFileSync('tar', ['-x'], { cwd: stage, input: archive });
    const options = { cwd: stage, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
    execFileSync('npm', ['run', 'build'], options);
    // npm warns of scripts, even of those that an installation does not run.
    const { scripts: _scripts, devDependencies: _devDependencies, ...published } = manifest;
    writeFileSync(join(stage, 'package.json'), `${JSON.stringify({ ...published, ...addresses }, null, 2)}\n`);
    const packed = execFileSync('npm', ['pack', '--ignore-scripts', '--json', '--pack-destination', root], options);
    return JSON.parse(packed)[0].filename;
  } finally {
    rmSync(stage, { recursive: true, force: true });
  }
}

function release() {
  const manifest = readJson('package.json');
  assertClean();
  assertVersion(manifest);
  check();
  assertClean();
  const addresses = findAddresses();
  const file = pack(manifest, addresses);
  const digest = createHash('sha256')
    .update(readFileSync(join(root, file)))
    .digest('hex');
  console.log(`${file}\nsha256 ${digest}\ninstall it with: npm install --global ./${file}`);
  if (!addresses.repository) {
    console.log(
      'It has no repository, homepage and bugs, because the remote `origin` is not on a server: npm publish needs them.',
    );
  }
}

try {
  release();
} catch (error) {
  if (!(error instanceof Refusal)) throw error;
  console.error(`not released: ${error.message}`);
  process.exitCode = 1;
}
