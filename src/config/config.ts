import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import type { Redactor } from '../core/redact/redactor.ts';
import { allowedKeys, configSchema, type RawConfig, type RawTarget, type TargetKind } from './schema.ts';
import { parseSmtpUrl } from './smtp-url.ts';
import { validateConfig } from './validate-config.ts';
import { readYamlFile } from './yaml.ts';

export type { TargetKind, Thresholds } from './schema.ts';

/** A service to talk to, with every default filled in. */
export interface Target extends Omit<RawTarget, 'mounts' | 'tokenHeader' | 'url'> {
  /** Base URL with `/api/v2` or `/v1`, without a trailing slash. */
  readonly url: string;
  readonly tokenHeader: string;
  readonly mounts: { readonly keymgmt: string; readonly mesh: string };
}

export interface Config extends Omit<RawConfig, 'targets'> {
  readonly file: string;
  /** Where the file stands: `jobs/`, `queries/` and `reports/` are looked for here first. */
  readonly directory: string;
  readonly targets: readonly Target[];
}

/**
 * Reads `tidemark.yaml`; paths in it are relative to it. Registers every secret of it with the redactor.
 * @throws TidemarkError CONFIG naming every problem with file, line and field.
 */
export function loadConfig(
  file: string,
  env: Readonly<Record<string, string | undefined>>,
  redactor: Redactor,
): Config {
  const directory = dirname(resolve(file));
  const value = readYamlFile(resolve(file), configSchema, env, allowedKeys, validateConfig);
  registerSecrets(value, redactor);
  const local = (path: string) => resolve(directory, path);
  return {
    ...value,
    file: resolve(file),
    directory,
    data: local(value.data),
    output: local(value.output),
    targets: value.targets.map((target) => withDefaults(target, local)),
    ...(value.mail && { mail: { ...value.mail, ...(value.mail.caFile && { caFile: local(value.mail.caFile) }) } }),
  };
}

function registerSecrets(config: RawConfig, redactor: Redactor): void {
  for (const { token, writeToken } of config.targets) {
    if (token) redactor.add(token);
    if (writeToken) redactor.add(writeToken);
  }
  const password = config.mail && parseSmtpUrl(config.mail.smtp)?.password;
  if (password) redactor.add(password);
}

const BASE_PATH: Record<TargetKind, string> = {
  platform: '/api/v2',
  secrets: '/v1',
  scheduler: '/v1',
  autoscaler: '/v1',
  mesh: '/v1',
};

function withDefaults(target: RawTarget, local: (path: string) => string): Target {
  const hashicorp = target.flavor === 'hashicorp';
  const base = target.url.replace(/\/+$/u, '');
  const suffix = BASE_PATH[target.kind];
  const storeHeader = hashicorp ? 'X-Vault-Token' : 'X-Store-Token';
  return {
    ...target,
    url: base.endsWith(suffix) ? base : `${base}${suffix}`,
    tokenHeader: target.tokenHeader ?? (target.kind === 'secrets' ? storeHeader : 'Authorization'),
    mounts: {
      keymgmt: trimSlashes(target.mounts.keymgmt ?? 'keymgmt'),
      mesh: trimSlashes(target.mounts.mesh ?? (hashicorp ? 'consul' : 'mesh')),
    },
    ...(target.caFile && { caFile: local(target.caFile) }),
    ...(target.clientCert && { clientCert: local(target.clientCert) }),
    ...(target.clientKey && { clientKey: local(target.clientKey) }),
  };
}

function trimSlashes(path: string): string {
  return path.replaceAll(/^\/+|\/+$/gu, '');
}

/** Targets with the same credential at the same origin share one limit; the token itself stays out of the key. */
export function credentialKey(target: Target): string {
  const token = createHash('sha256')
    .update(target.token ?? '')
    .digest('hex')
    .slice(0, 16);
  return `${new URL(target.url).origin} ${token}`;
}
