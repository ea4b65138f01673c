import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { TidemarkError } from '../core/errors.ts';
import { readNamedFile } from '../core/fs.ts';
import { isObject } from '../core/json-path.ts';

export type Environment = Readonly<Record<string, string | undefined>>;
export type Path = readonly PropertyKey[];

interface InterpolationContext {
  readonly env: Environment;
  /** Directory of relative `${file:…}` paths. */
  readonly directory: string;
  /** Whether a reference in the field need not resolve; it then becomes `UNSET`. @default none */
  readonly isOptional?: ((path: Path) => boolean) | undefined;
}

/** No secret is as large. */
const MAX_SECRET_KIBIBYTES = 64;
const MAX_ENV_KIBIBYTES = 1024;

/** A value that no secret has, in place of a reference that need not resolve. */
const UNSET = 'tidemark-reference-without-a-value';
/** The same for a whole field: the address of a mail server must be one. */
const UNSET_FIELD = `smtp://${UNSET}`;

const REFERENCE = /\$\{([^}]*)\}/gu;
const UNCLOSED = /\$\{[^}]*$/u;

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
    if (UNCLOSED.test(value)) report(path, `after \`\${\` the brace that closes it is missing`);
    return value.replaceAll(REFERENCE, (found, reference: string) => {
      try {
        return resolveReference(reference, context);
      } catch (error) {
        if (!(error instanceof TidemarkError)) throw error;
        if (context.isOptional?.(path)) return found === value ? UNSET_FIELD : UNSET;
        report(path, error.message);
        return '';
      }
    });
  }
  const below = (inner: unknown, key: string | number) => interpolate(inner, context, report, [...path, key]);
  if (Array.isArray(value)) return value.map(below);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, below(inner, key)]));
}

/** @throws TidemarkError CONFIG why it has no value */
function resolveReference(reference: string, { env, directory }: InterpolationContext): string {
  const text = reference.startsWith('file:')
    ? readNamedFile(resolve(directory, reference.slice('file:'.length)), {
        name: `\${${reference}}: the file`,
        maxKibibytes: MAX_SECRET_KIBIBYTES,
      }).replace(/[\r\n]+$/u, '')
    : readVariable(reference, env);
  if (!/\p{Cc}/u.test(text)) return text;
  // A message of a library may repeat such a value in a form that the redactor does not know.
  throw new TidemarkError('CONFIG', `\${${reference}}: the value has a line break or another control character`);
}

function readVariable(name: string, env: Environment): string {
  // What stands there may be a secret, as in `${TOKEN:-value}` of other programs.
  if (!/^[\w.()-]+$/u.test(name)) throw new TidemarkError('CONFIG', 'between the braces is no name of a variable');
  const value = Object.hasOwn(env, name) ? env[name] : undefined;
  if (value) return value;
  const advice =
    value === undefined
      ? 'not set; export it, or set it in .env beside the file'
      : 'empty; export a value, or unset it so that .env beside the file can set it';
  throw new TidemarkError('CONFIG', `the environment variable ${name} is ${advice}`);
}

/**
 * The environment, with the variables of the file `.env` beside the configuration that it does not have.
 * @throws TidemarkError CONFIG if the file cannot be read
 */
export function withEnvFile(directory: string, env: Environment): Environment {
  const file = join(directory, '.env');
  try {
    const text = readNamedFile(file, { code: 'CONFIG', maxKibibytes: MAX_ENV_KIBIBYTES });
    return { ...parseEnv(text), ...env };
  } catch (error) {
    if (((error as Error).cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') return env;
    throw error;
  }
}
