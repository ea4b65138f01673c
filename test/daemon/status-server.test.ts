import { expect, test } from 'vitest';
import { parseListenAddress } from '../../src/run/schedule/daemon.ts';

test.each([
  ['127.0.0.1:9464', { host: '127.0.0.1', port: 9464 }],
  ['0.0.0.0:80', { host: '0.0.0.0', port: 80 }],
  ['[::1]:9464', { host: '::1', port: 9464 }],
  [':9464', { host: '::', port: 9464 }],
  ['9464', { host: '127.0.0.1', port: 9464 }],
  ['tidemark.internal:9464', { host: 'tidemark.internal', port: 9464 }],
])('%s is a listen address', (text, address) => {
  expect(parseListenAddress(text)).toEqual(address);
});

test.each(['', 'localhost', '127.0.0.1:', '127.0.0.1:99999', 'http://127.0.0.1:80', '127.0.0.1:80/x'])(
  '`%s` is an error of the configuration',
  (text) => {
    expect(() => parseListenAddress(text)).toThrow(expect.objectContaining({ code: 'CONFIG' }));
  },
);
