import { hostname, userInfo } from 'node:os';

/** The account and the host that the program runs with, such as `alice@build-1`. */
export function accountName(): string {
  return `${loginName()}@${hostname()}`;
}

/** An account without an entry in the system's list, as in a container, has no name. */
function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    return 'unknown';
  }
}
