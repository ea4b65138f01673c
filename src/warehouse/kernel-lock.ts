import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { nativeError } from '../core/native.ts';

/** The native part of fs-native-extensions. */
interface Binary {
  /** @throws an error with the code EAGAIN while another open file description holds the lock */
  tryLock(fd: number, offset: number, length: number, isExclusive: boolean): void;
}

const require = createRequire(import.meta.url);
let loaded: Binary | undefined;

/**
 * Locks an open file through the kernel, which releases the lock when `fd` is closed or its process ends, for any reason. The lock
 * belongs to the open file description: it also excludes a second holder in this process, and reading the file elsewhere in this
 * process does not release it (docs/decisions.md#locks).
 * @returns false while another open file description holds the lock
 * @throws TidemarkError UNSAFE if the file system has no such lock, CONFIG if the package with the lock is not installed.
 */
export function tryLockFile(fd: number, file: string): boolean {
  loaded ??= loadBinary();
  try {
    loaded.tryLock(fd, 0, 0, true);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
    throw new TidemarkError('UNSAFE', `${file} cannot be locked: ${errorMessage(error)}`, {
      hint: 'put `data` on a file system with locks, such as a local one',
      cause: error,
    });
  }
}

/** The package itself looks for a separate build on Alpine, although that for Linux also loads with musl. */
function loadBinary(): Binary {
  try {
    return require(`fs-native-extensions/prebuilds/${platform()}-${arch()}/fs-native-extensions.node`) as Binary;
  } catch (cause) {
    throw nativeError('fs-native-extensions', cause);
  }
}
