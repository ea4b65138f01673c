import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { explainSignature, parseSshKey } from '../../src/core/ssh-signature.ts';
import { armor, createSshKey, unarmor } from '../helpers/ssh-keys.ts';
import { tempFolder } from '../helpers/temp.ts';

const hasKeygen = spawnSync('ssh-keygen', ['-?']).error === undefined;
if (!hasKeygen) console.log('tests with ssh-keygen are skipped: it is not in the path');

const TEXT = 'a statement\nof two lines\n';
const namespace = 'tidemark-plan';

test.skipIf(!hasKeygen)('a signature of the real ssh-keygen counts, with each of its hashes', async () => {
  const folder = await tempFolder();
  const file = join(folder, 'id');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'alice@acme.example', '-f', file]);
  const key = readFileSync(`${file}.pub`, 'utf8');
  for (const hash of ['sha256', 'sha512']) {
    const words = ['-Y', 'sign', '-n', namespace, '-O', `hashalg=${hash}`, '-f', file];
    const signature = execFileSync('ssh-keygen', words, { input: TEXT, stdio: ['pipe', 'pipe', 'ignore'] }).toString();
    expect(explainSignature({ text: TEXT, namespace, signature, key })).toBeUndefined();
    expect(explainSignature({ text: `${TEXT} `, namespace, signature, key })).toBe('it is of another text');
  }
});

test.skipIf(!hasKeygen)('the real ssh-keygen verifies what the key of these tests signs', async () => {
  const folder = await tempFolder();
  const key = createSshKey();
  const [signers, signature] = [join(folder, 'signers'), join(folder, 'text.sig')];
  writeFileSync(signers, `alice namespaces="${namespace}" ${key.line}\n`);
  writeFileSync(signature, key.sign(TEXT));
  const words = ['-Y', 'verify', '-f', signers, '-I', 'alice', '-n', namespace, '-s', signature];
  expect(spawnSync('ssh-keygen', words, { input: TEXT }).status).toBe(0);
});

test.skipIf(!hasKeygen)('a key of another type is no key', async () => {
  const folder = await tempFolder();
  for (const type of ['rsa', 'ecdsa']) {
    const file = join(folder, type);
    execFileSync('ssh-keygen', ['-q', '-t', type, '-N', '', '-f', file]);
    expect(parseSshKey(readFileSync(`${file}.pub`, 'utf8'))).toBeUndefined();
  }
});

test('a signature is of one text, one namespace and one key', () => {
  const [alice, bob] = [createSshKey(), createSshKey()];
  const explain = (text: string, signature: string, key = alice.line) =>
    explainSignature({ text, namespace, signature, key });
  expect(explain(TEXT, alice.sign(TEXT))).toBeUndefined();
  expect(explain('another', alice.sign(TEXT))).toBe('it is of another text');
  expect(explain(TEXT, bob.sign(TEXT))).toBe('another key made it');
  expect(explain(TEXT, alice.sign(TEXT, { namespace: 'git' }))).toBe('it is of namespace git, not tidemark-plan');
  for (const hash of ['sha1', 'md5']) {
    expect(explain(TEXT, alice.sign(TEXT, { hash }))).toContain('not an Ed25519 signature');
  }
});

test('no changed, shortened or extended byte is accepted, and none is an error', () => {
  const key = createSshKey();
  const bytes = unarmor(key.sign(TEXT));
  const explain = (changed: Buffer) =>
    explainSignature({ text: TEXT, namespace, signature: armor(changed), key: key.line });
  for (const index of bytes.keys()) {
    const flipped = Buffer.from(bytes);
    flipped.writeUInt8(bytes.readUInt8(index) ^ 1, index);
    expect(explain(flipped), `byte ${index}`).toBeDefined();
    expect(explain(bytes.subarray(0, index)), `${index} bytes`).toBeDefined();
  }
  expect(explain(Buffer.concat([bytes, Buffer.from([0])]))).toBeDefined();
  for (const text of ['', 'no armor', '-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----']) {
    expect(explainSignature({ text: TEXT, namespace, signature: text, key: key.line })).toBeDefined();
  }
});

test('a line that is not an Ed25519 key is no key', () => {
  const { line } = createSshKey();
  const blob = line.split(' ')[1] as string;
  expect(parseSshKey(line)).toHaveLength(32);
  for (const other of ['', 'ssh-ed25519', 'ssh-ed25519 AAAA', `ssh-rsa ${blob}`, `ssh-ed25519 ${blob.slice(0, -8)}`]) {
    expect(parseSshKey(other), other).toBeUndefined();
  }
});
