import { readFileSync, writeFileSync } from 'node:fs';
import type { ServerOptions } from 'node:https';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { cli } from '../../helpers/cli.ts';
import { cleanAtEnd, tempFolder } from '../../helpers/temp.ts';
import { pull, type SecureServices, secureServices } from './secure-services.ts';

const atEnd = cleanAtEnd();
let services: SecureServices;
beforeAll(async () => {
  services = await secureServices(atEnd);
});

const OLD_TLS: ServerOptions = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' };

describe('TLS', () => {
  test('is verified by the authority that caFile names', async () => {
    const { run, rows } = await pull({
      url: `https://localhost:${await services.secure('server')}`,
      target: { caFile: services.pem('ca') },
    });
    expect(run.exit, run.stderr).toBe(0);
    expect(rows).toBeGreaterThan(0);
  });

  test.each<[string, string, string | undefined, RegExp, string, ServerOptions?]>([
    [
      'an authority that is not known',
      'server',
      undefined,
      /UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER/u,
      'set `caFile`',
    ],
    ['a certificate that nobody signed', 'self', 'ca', /DEPTH_ZERO_SELF_SIGNED_CERT|UNABLE_TO_VERIFY/u, 'set `caFile`'],
    ['a certificate of another host', 'elsewhere', 'ca', /ERR_TLS_CERT_ALTNAME_INVALID/u, 'write a host'],
    ['a certificate that has ended', 'ended', 'ca', /CERT_HAS_EXPIRED/u, 'renew the certificate'],
    ['old TLS', 'server', 'ca', /ERR_SSL_\w+/u, 'it must speak TLS 1.2', OLD_TLS],
  ])('rejects %s at once, with a hint', async (_, name, authority, code, hint, more) => {
    const target = authority === undefined ? {} : { caFile: services.pem(authority) };
    const { run, rows } = await pull({ url: `https://localhost:${await services.secure(name, more)}`, target });
    expect(run.exit).toBe(3);
    expect(run.stderr).toMatch(
      new RegExp(`the TLS connection failed: (?:${code.source}): https://localhost:\\d+: ${hint}`, 'u'),
    );
    expect(run.stderr).toContain('(autoscaler_health, autoscaler_metrics; 2 requests)');
    expect(rows).toBe(0);
  });

  test('https of a service that has none names the port and http:', async () => {
    const { run } = await pull({ url: services.plainUrl.replace('http:', 'https:') });
    expect(run.stderr).toMatch(
      /ERR_SSL_WRONG_VERSION_NUMBER: https:[^ ]+: check the port in `url` .* write http: where/u,
    );
  });

  test('is verified whatever NODE_TLS_REJECT_UNAUTHORIZED is', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    const { run } = await pull({ url: `https://localhost:${await services.secure('self')}` });
    expect(run.stderr).toContain('the TLS connection failed');
  });

  test('presents the client certificate on request', async () => {
    const url = `https://localhost:${await services.secure('server', { ca: readFileSync(services.pem('ca')), requestCert: true, rejectUnauthorized: true })}`;
    const without = await pull({ url, target: { caFile: services.pem('ca') } });
    expect(without.run.exit).toBe(3);
    const target = {
      caFile: services.pem('ca'),
      clientCert: services.pem('client'),
      clientKey: services.key('client'),
    };
    const { run, rows } = await pull({ url, target });
    expect(run.exit, run.stderr).toBe(0);
    expect(rows).toBeGreaterThan(0);
  });

  test('with an unreadable certificate file is a configuration error', async () => {
    const cwd = await tempFolder();
    writeFileSync(
      join(cwd, 'tidemark.yaml'),
      'targets:\n  - { name: scaler, kind: autoscaler, url: "https://localhost:1", caFile: none.pem }\n',
    );
    const run = await cli(['pull'], { cwd });
    expect(run.exit, run.stderr).toBe(2);
    expect(run.stderr).toContain('none.pem');
  });
});
