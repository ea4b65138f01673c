import { expect, test } from 'vitest';
import { mayContainSecret, stripSecretFields } from '../../../src/core/redact/secret-fields.ts';

test('a secret field is dropped by its name, in any spelling and at any depth', () => {
  const response = {
    Name: 'x',
    Secrets: { a: 1 },
    nested: [{ 'private-key-pem': 'k', client_secret: 's', kept: null }],
    MountOptions: { FSType: 'ext4', MountFlags: ['a'] },
  };
  expect(stripSecretFields(response)).toEqual({
    Name: 'x',
    nested: [{ kept: null }],
    MountOptions: { FSType: 'ext4' },
  });
  for (const name of [
    'Secrets',
    'private-key-pem',
    'clientSecret',
    'PrivateKeyPEM',
    'mount_flags',
    'key_material',
    'api_token',
    'db-password',
    'fs.s3a.secret.key',
    'access  key',
    'pass_word',
    'token!',
    '"password"',
  ]) {
    expect(mayContainSecret(JSON.stringify({ [name]: 1 })), name).toBe(true);
    expect(stripSecretFields({ [name]: 1 }), name).toEqual({});
  }
});

test('fields with similar names are kept', () => {
  const kept = {
    NextToken: 'a',
    token_type: 'client',
    PrivateKeyBits: 256,
    'authentication-tokens': 'b',
    key_name: 'c',
  };
  expect(stripSecretFields(kept)).toEqual(kept);
});
