import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { errorMessage, TidemarkError } from '../core/errors.ts';
import { nativeError } from '../core/native.ts';

/** Tries to lock an open file exclusively. Returns false while another open file description holds the lock. */
type TryLock = (fd: number) => boolean;

const require = createRequire(import.meta.url);
let loaded: TryLock | undefined;

/**
 * Locks an open file through the kernel, which releases the lock when `fd` is closed or its process ends, for any reason. The lock
 * belongs to the open file description: it also excludes a second holder in this process, and reading the file elsewhere in this
 * process does not release it (docs/decisions.md#locks).
 * @throws TidemarkError UNSAFE if the file system has no such lock, CONFIG if the package with the lock is not installed.
 */
export function tryLockFile(fd: number, file: string): boolean {
  loaded ??= loadTryLock();
  try {
    return loaded(fd);
  } catch (error) {
    throw new TidemarkError('UNSAFE', `${file} cannot be locked: ${errorMessage(error)}`, {
      hint: 'put `data` on a file system with locks, such as a local one',
      cause: error,
    });
  }
}

function loadTryLock(): TryLock {
  try {
    return (require('fs-native-extensions') as { tryLock: TryLock }).tryLock;
  } catch (cause) {
    return loadBinary(cause);
  }
}

interface Binary {
  tryLock(fd: number, offset: number, length: number, isExclusive: boolean): void;
}

/** On Alpine, the package looks for a separate build, although its Linux build also loads with musl. */
function loadBinary(cause: unknown): TryLock {
  try {
    const file = `fs-native-extensions/prebuilds/${platform()}-${arch()}/fs-native-extensions.node`;
    const binary = require(file) as Binary;
    return (fd) => {
      try {
        binary.tryLock(fd, 0, 0, true);
        return true;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return false;
        throw error;
      }
    };
  } catch {
    throw nativeError('fs-native-extensions', cause);
  }
}
