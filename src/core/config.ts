import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { configSchema, knownConfigKeys, type RawConfig, type RawTarget, type TargetKind } from './config-schema.ts';
import type { Redactor } from './redact.ts';
import { parseSmtpUrl, SMTP_PROBLEM } from './smtp-url.ts';
import { type Problem, readYamlFile } from './yaml-file.ts';

export type { TargetKind, Thresholds } from './config-schema.ts';

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
  const { value, refuse } = readYamlFile(resolve(file), configSchema, env, knownConfigKeys);
  registerSecrets(value, redactor);
  const problems = [...value.targets.flatMap(targetProblems), ...duplicateNames(value.targets), ...mailProblems(value)];
  if (problems.length > 0) refuse(problems);
  const local = (path: string) => resolve(directory, path);
  return {
    ...value,
    file: resolve(file),
    directory,
    data: local(value.data),
    output: local(value.output),
    targets: value.targets.map((target) => complete(target, local)),
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

function targetProblems(target: RawTarget, index: number): Problem[] {
  const problems: Problem[] = [];
  const say = (field: string, message: string) => problems.push({ path: ['targets', index, field], message });
  const wrong = urlProblem(target.url);
  if (wrong) say('url', wrong);
  if (target.kind === 'platform' && !target.organization) say('organization', 'is required for kind platform');
  if ((target.kind === 'platform' || target.kind === 'secrets') && !target.token)
    say('token', `is required for kind ${target.kind}`);
  if (Boolean(target.clientCert) !== Boolean(target.clientKey)) say('clientCert', 'goes with clientKey: give both');
  return problems;
}

function urlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'is not a URL such as https://host:port';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https:// or http://';
  if (url.username || url.password) return 'must not hold a user or password; use token';
  if (url.search || url.hash) return 'must not hold a query or fragment';
  return undefined;
}

function duplicateNames(targets: readonly RawTarget[]): Problem[] {
  const first = new Map<string, number>();
  return targets.flatMap(({ name }, index) => {
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, index);
    return earlier === undefined
      ? []
      : [{ path: ['targets', index, 'name'], message: `\`${name}\` is already the name of targets[${earlier}]` }];
  });
}

function mailProblems({ mail }: RawConfig): Problem[] {
  if (!mail || parseSmtpUrl(mail.smtp)) return [];
  return [{ path: ['mail', 'smtp'], message: SMTP_PROBLEM }];
}

const BASE_PATH: Record<TargetKind, string> = {
  platform: '/api/v2',
  secrets: '/v1',
  scheduler: '/v1',
  autoscaler: '/v1',
  mesh: '/v1',
};

function complete(target: RawTarget, local: (path: string) => string): Target {
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
