import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { MAX_SHARDS } from '../core/choices.ts';
import { decodeUri } from '../core/decode-uri.ts';
import { TidemarkError } from '../core/errors.ts';
import { REGULAR_FILE } from '../core/fs.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { sha256 } from '../core/sha256.ts';
import { isLakeAddress } from './lake.ts';
import { parseSmtpUrl } from './mail.ts';
import { type Environment, interpolate, withEnvFile } from './references.ts';
import { configSchema, type RawConfig, type RawTarget, type TargetKind } from './schema.ts';
import { findNamed } from './suggest.ts';
import { readPlainYaml, readYamlFile } from './yaml.ts';

export type { TargetKind, Thresholds } from './schema.ts';

/** A target with its defaults. */
export type Target = Readonly<ReturnType<typeof withDefaults>>;

/** A part of the targets, from 1 to `count`. Another process has each other part. */
export type Shard = Readonly<ReturnType<typeof parseShard>>;

export interface Config extends Omit<RawConfig, 'targets'> {
  readonly file: string;
  /** Directory of the file: `jobs/`, `queries/` and `reports/` are looked up here first. */
  readonly directory: string;
  readonly targets: readonly Target[];
  /** The part of the targets that `targets` is, if `--shard` selects one. */
  readonly shard?: Shard;
  /** The names of the targets of other shards. */
  readonly elsewhere?: readonly string[];
}

/** Fields whose references only need to resolve for a command that talks to services. */
const SECRET_FIELDS = new Set(['token', 'writeToken', 'clientKey', 'smtp']);

/**
 * Reads `tidemark.yaml`. Paths in it are relative to it, and `.env` beside it adds to the environment;
 * its secrets are added to the redactor.
 * @param options `needsSecrets`: false for a command that only reads the warehouse, which runs without the tokens of the services; `shard`:
 * only its targets, with a warehouse of their own
 * @throws TidemarkError CONFIG with the line and field of every error.
 */
export function loadConfig(
  file: string,
  env: Environment,
  redactor: Redactor,
  { needsSecrets = true, shard }: { readonly needsSecrets?: boolean; readonly shard?: Shard | undefined } = {},
): Config {
  const directory = dirname(resolve(file));
  const variables = withEnvFile(directory, env);
  const value = readYamlFile(resolve(file), configSchema, {
    hint: 'write one with `tidemark init`, or name one with --config FILE',
    env: variables,
    isOptional: (path) => !needsSecrets && SECRET_FIELDS.has(String(path.at(-1))),
  });
  registerSecrets(value, directory, variables, redactor);
  const toAbsolute = (path: string) => resolve(directory, path);
  const config: Config = {
    ...value,
    file: resolve(file),
    directory,
    data: assertWritable(toAbsolute(value.data)),
    output: toAbsolute(value.output),
    ...(value.lake !== undefined && { lake: isLakeAddress(value.lake) ? value.lake : toAbsolute(value.lake) }),
    plugins: value.plugins.map(toAbsolute),
    targets: value.targets.map((target) => withDefaults(target, toAbsolute)),
    ...(value.mail && { mail: { ...value.mail, ...(value.mail.caFile && { caFile: toAbsolute(value.mail.caFile) }) } }),
  };
  return shard ? selectShard(config, shard) : config;
}

/** DuckDB ends a path at a question mark: it would write the log of the warehouse into another folder. */
function assertWritable(data: string): string {
  if (!data.includes('?')) return data;
  throw new TidemarkError(
    'CONFIG',
    `data: ${data}: a warehouse cannot be in a folder with a question mark in its path`,
  );
}

/** Makes the redactor mask every secret of a project: a service may repeat any of them, whatever the command is. */
function registerSecrets(config: RawConfig, directory: string, env: Environment, redactor: Redactor): void {
  const { targets, mail, lake, lifecycle } = config;
  const secrets = [
    ...targets.flatMap(({ token, writeToken }) => [token, writeToken]),
    mail && parseSmtpUrl(mail.smtp)?.password,
    ...(lake !== undefined && isLakeAddress(lake) ? [env.AWS_SECRET_ACCESS_KEY, env.AWS_SESSION_TOKEN] : []),
    ...(lifecycle ? new URL(lifecycle.url).searchParams.values() : []),
    ...readHeartbeats(join(directory, 'jobs'), env).flatMap(findUrlSecrets),
  ];
  for (const secret of secrets) if (secret) redactor.add(secret);
}

/** The heartbeats of the jobs in a folder. A job that is not valid is reported where it is used. */
function readHeartbeats(folder: string, env: Environment): readonly string[] {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.yaml')) : [];
  return names.flatMap((name) => {
    try {
      const job = readPlainYaml(join(folder, name), REGULAR_FILE) as { heartbeat?: unknown } | null;
      const url = interpolate(job?.heartbeat, { env, directory: folder }, () => {});
      return typeof url === 'string' && URL.canParse(url) ? [url] : [];
    } catch {
      return [];
    }
  });
}

/** Shorter parts of an address are words, such as `ping`. */
const MIN_PART_LENGTH = 8;

/** The path, the query and the user of a heartbeat are secret: they permit to report. */
export function findUrlSecrets(url: string): readonly string[] {
  const { pathname, searchParams, username, password } = new URL(url);
  const parts = [...pathname.split('/'), ...searchParams.values(), username, password].map(decodeUri);
  return parts.filter((part) => part.length >= MIN_PART_LENGTH);
}

/** @throws TidemarkError USAGE naming the closest match. */
export function getTarget({ targets }: Config, name: string): Target {
  return findNamed(targets, 'target', name);
}

/** Reads `3/16`. @throws TidemarkError USAGE */
export function parseShard(text: string) {
  const [, index, count] = (/^(\d{1,4})\/(\d{1,4})$/u.exec(text) ?? []).map(Number);
  if (index !== undefined && count !== undefined && index >= 1 && index <= count && count <= MAX_SHARDS) {
    return { index, count };
  }
  throw new TidemarkError('USAGE', `--shard ${text} is not a shard`, {
    hint: `give its number and their count, such as 3/16; there are at most ${MAX_SHARDS}`,
  });
}

/**
 * Rendezvous hashing: each shard has a score for the credential, and the highest one wins. With one shard more or less, only the
 * targets of that shard move.
 */
export function chooseShard(credential: string, count: number): number {
  let best = { index: 0, score: '' };
  for (let index = 1; index <= count; index++) {
    const score = sha256(`${index}\n${credential}`);
    if (score > best.score) best = { index, score };
  }
  return best.index;
}

/**
 * The configuration of one shard: its targets, with a warehouse and reports of its own below `shards/`. Targets with the same
 * credential are in the same shard, because a rate limit belongs to a credential (docs/decisions.md#shards).
 */
function selectShard(config: Config, shard: Shard): Config {
  const { targets = [] } = readPlainYaml(config.file) as { readonly targets?: readonly Partial<RawTarget>[] };
  // As the file names it, such as `${ACME_TOKEN}`: the token itself may change from night to night.
  const references = new Map(targets.map(({ name, token }) => [name, token ?? '']));
  const name = ({ name: target, url, credential }: Target) =>
    credential ?? `${new URL(url).origin} ${references.get(target)}`;
  const folder = join('shards', String(shard.index));
  const isOwn = (target: Target) => chooseShard(name(target), shard.count) === shard.index;
  return {
    ...config,
    shard,
    data: join(config.data, folder),
    output: join(config.output, folder),
    targets: config.targets.filter(isOwn),
    elsewhere: config.targets.filter((target) => !isOwn(target)).map((target) => target.name),
  };
}

/**
 * Targets without a file, with their defaults.
 * @throws TidemarkError USAGE with one line per problem
 */
export function createTargets(documents: readonly unknown[]): readonly Target[] {
  const { data, error } = configSchema.safeParse({ targets: documents });
  const messages = error?.issues.map(({ path, message }) => `${path.join('.')} ${message}`) ?? [];
  if (!data) throw new TidemarkError('USAGE', messages.join('\n'));
  return data.targets.map((target) => withDefaults(target, (path) => resolve(path)));
}

const BASE_PATH: Record<TargetKind, string> = {
  platform: '/api/v2',
  secrets: '/v1',
  scheduler: '/v1',
  autoscaler: '/v1',
  mesh: '/v1',
  registry: '',
};

/** Where Terrakube serves the API of the platform: `/remote/tfe/v2`. */
const OTHER_BASE = '/tfe/v2';

function withDefaults(target: RawTarget, toAbsolute: (path: string) => string) {
  const hashicorp = target.flavor === 'hashicorp';
  const base = target.url.replace(/\/+$/u, '');
  const suffix = BASE_PATH[target.kind];
  const mesh = [target.mounts.mesh ?? (hashicorp ? 'consul' : 'mesh')].flat();
  const storeHeader = hashicorp ? 'X-Vault-Token' : 'X-Store-Token';
  return {
    ...target,
    /** Base URL with `/api/v2` or `/v1`, without a trailing slash. */
    url: base.endsWith(suffix) || (target.kind === 'platform' && base.endsWith(OTHER_BASE)) ? base : `${base}${suffix}`,
    tokenHeader: target.tokenHeader ?? (target.kind === 'secrets' ? storeHeader : 'Authorization'),
    mounts: { keymgmt: target.mounts.keymgmt ?? 'keymgmt', mesh: mesh.length === 1 ? String(mesh[0]) : mesh },
    ...(target.caFile && { caFile: toAbsolute(target.caFile) }),
    ...(target.clientCert && { clientCert: toAbsolute(target.clientCert) }),
    ...(target.clientKey && { clientKey: toAbsolute(target.clientKey) }),
  };
}

/** The mounts of the mesh credentials engines, the first one first. */
export function meshMounts({ mounts }: Pick<Target, 'mounts'>): readonly string[] {
  return [mounts.mesh].flat();
}

/** Targets with the same key share a rate limiter: same credential, same origin. The key contains a hash of the token. */
export function credentialKey(target: Target): string {
  return `${new URL(target.url).origin} ${sha256(target.token ?? '').slice(0, 16)}`;
}
