import { resolve } from 'node:path';
import { type Config, type LoadOptions, loadConfig } from '../config/config.ts';
import { parseShard } from '../config/shard.ts';
import { unknownName } from '../config/suggest.ts';
import { parseTimestamp } from '../core/clock.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';

/** The configuration that `--config` names, or the part of it that `--shard` names. */
export function readConfig({ cwd, configFile, env, redactor, shard }: Context, options: LoadOptions = {}): Config {
  return loadConfig(resolve(cwd, configFile), env, redactor, {
    ...options,
    ...(shard && { shard: parseShard(shard) }),
  });
}

/** The same for a command that only reads the warehouse: it needs no token. */
export function readLocalConfig(context: Context): Config {
  return readConfig(context, { needsSecrets: false });
}

/** @throws TidemarkError USAGE naming the option. */
export function parseTimestampOption(option: string, text: string): Date {
  const timestamp = parseTimestamp(text);
  if (timestamp) return timestamp;
  throw new TidemarkError('USAGE', `${option} ${text} is not a timestamp`, {
    hint: 'give one such as 2026-11-20 or 2026-11-20T02:15:00Z',
  });
}

/** The names, if all are configured targets. @throws TidemarkError USAGE naming the closest match. */
export function assertTargets({ targets }: Config, names: readonly string[]): readonly string[] {
  const known = targets.map(({ name }) => name);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined) throw unknownName('target', unknown, known);
  return names;
}
