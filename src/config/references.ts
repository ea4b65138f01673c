import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { TidemarkError } from '../core/errors.ts';
import { readNamedFile } from '../core/fs.ts';

export type Environment = Readonly<Record<string, string | undefined>>;
export type Path = readonly PropertyKey[];

interface InterpolationContext {
  readonly env: Environment;
  /** Directory of relative `${file:…}` paths. */
  readonly directory: string;
  /** Whether a reference in the field need not resolve; it then becomes `UNSET`. */
  readonly isOptional: (path: Path) => boolean;
}

/** No secret is as large. */
const MAX_SECRET_KIBIBYTES = 64;
const MAX_ENV_KIBIBYTES = 1024;

/** A value that no secret has, in place of a reference that need not resolve. */
const UNSET = 'tidemark-reference-without-a-value';
/** The same for a whole field: the address of a mail server must be one. */
const UNSET_FIELD = `smtp://${UNSET}`;

const REFERENCE = /\$\{([^}]*)\}/gu;

/**
 * Replaces `${NAME}` from the environment and `${file:PATH}` from a file (without its trailing line breaks) in every string of a
 * parsed document. A reference that cannot be resolved is reported with the path of its field and becomes empty.
 */
export function interpolate(
  value: unknown,
  context: InterpolationContext,
  report: (path: Path, message: string) => void,
  path: Path = [],
): unknown {
  if (typeof value === 'string') {
    return value.replaceAll(REFERENCE, (found, reference: string) => {
      const { text, error } = resolveReference(reference, context);
      if (error !== undefined && context.isOptional(path)) return found === value ? UNSET_FIELD : UNSET;
      if (error !== undefined) report(path, error);
      return text;
    });
  }
  if (Array.isArray(value)) return value.map((item, index) => interpolate(item, context, report, [...path, index]));
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    interpolate(inner, context, report, [...path, key]),
  ]);
  return Object.fromEntries(entries);
}

interface Resolution {
  readonly text: string;
  readonly error?: string;
}

function resolveReference(reference: string, { env, directory }: InterpolationContext): Resolution {
  const { text, error } = reference.startsWith('file:')
    ? readSecretFile(resolve(directory, reference.slice('file:'.length)), reference)
    : readVariable(reference, env);
  if (error !== undefined) return { text, error };
  // A message of a library may repeat such a value in a form that the redactor does not know.
  return /\p{Cc}/u.test(text)
    ? { text: '', error: `\${${reference}}: the value has a line break or another control character` }
    : { text };
}

function readSecretFile(file: string, reference: string): Resolution {
  try {
    const text = readNamedFile(file, { name: `\${${reference}}: the file`, maxKibibytes: MAX_SECRET_KIBIBYTES });
    return { text: text.replace(/[\r\n]+$/u, '') };
  } catch (error) {
    if (!(error instanceof TidemarkError)) throw error;
    return { text: '', error: error.message };
  }
}

function readVariable(name: string, env: Environment): Resolution {
  const value = env[name];
  if (value) return { text: value };
  const advice =
    value === undefined
      ? 'not set; export it, or set it in .env beside the file'
      : 'empty; export a value, or unset it so that .env beside the file can set it';
  return { text: '', error: `the environment variable ${name} is ${advice}` };
}

/**
 * The environment, with the variables of the file `.env` beside the configuration that it does not have.
 * @throws TidemarkError CONFIG if the file cannot be read
 */
export function withEnvFile(directory: string, env: Environment): Environment {
  const file = join(directory, '.env');
  try {
    const text = readNamedFile(file, { code: 'CONFIG', maxKibibytes: MAX_ENV_KIBIBYTES });
    return { ...parseEnv(text.replace(/^\ufeff/u, '')), ...env };
  } catch (error) {
    if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return env;
    throw error;
  }
}
