import { errorMessage, TidemarkError } from './errors.ts';

/**
 * The error for a package with native code that cannot be loaded. npm installs such a package for the platform that it runs on, so
 * it is missing after an installation on another platform, or without optional dependencies.
 */
export function nativeError(name: string, cause: unknown): TidemarkError {
  const { code } = cause as NodeJS.ErrnoException;
  const missing =
    code === 'MODULE_NOT_FOUND' ? /Cannot find (?:module|package) '((?:@[^/']+\/)?[^./'][^/']*)/u : undefined;
  const [, found] = missing?.exec(errorMessage(cause)) ?? [];
  const reason =
    found === undefined ? `cannot be loaded: ${errorMessage(cause).split('\n', 1)[0]}` : 'is not installed';
  return new TidemarkError('CONFIG', `the package ${found ?? name} ${reason}`, {
    hint: 'install Tidemark again on this machine with npm, with optional dependencies',
    cause,
  });
}
