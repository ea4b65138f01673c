import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Redactor } from '../core/redact/redactor.ts';
import { isLakeAddress } from './lake.ts';
import { decodeUri, parseSmtpUrl } from './mail.ts';
import { type Environment, interpolate } from './references.ts';
import type { RawConfig } from './schema.ts';
import { readPlainYaml } from './yaml.ts';

/** Makes the redactor mask every secret of a project: a service may repeat any of them, whatever the command is. */
export function registerSecrets(config: RawConfig, directory: string, env: Environment, redactor: Redactor): void {
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
      const job = readPlainYaml(join(folder, name)) as { heartbeat?: unknown } | null;
      const context = { env, directory: folder, isOptional: () => false };
      const url = interpolate(job?.heartbeat, context, () => {});
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
