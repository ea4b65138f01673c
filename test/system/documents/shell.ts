import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type Cleanup, tempFolder } from '../../helpers/temp.ts';

const execute = promisify(execFile);

/** A command that serves until it is stopped stays, as in a terminal of its own, and the line after it runs once it has its address. */
const WRAPPER = `#!/bin/sh
case "$1" in
serve | sandbox)
  served=$(mktemp -p "$LOGS")
  node "$TIDEMARK" "$@" >"$served" 2>"$served.err" &
  echo $! >>"$LOGS/pids"
  until grep -q http:// "$served" && { [ "$1" = serve ] || grep -q serving "$served.err"; }; do
    kill -0 $! || { cat "$served.err" >&2; exit 1; }
    sleep 0.1
  done
  cat "$served" ;;
*) exec node "$TIDEMARK" "$@" ;;
esac
`;

/** A home where a reader types what a page shows. */
export interface Shell {
  readonly home: string;
  /** Runs a block as printed; it must succeed. Returns stdout. */
  run(block: string, cwd: string): Promise<string>;
}

export async function openShell(command: string, cleanup: Cleanup): Promise<Shell> {
  const home = await tempFolder(cleanup);
  const [bin, logs] = [join(home, 'bin'), join(home, 'logs')];
  for (const folder of [bin, logs]) await mkdir(folder);
  await writeFile(join(bin, 'tidemark'), WRAPPER);
  await chmod(join(bin, 'tidemark'), 0o755);
  // The name under which the pages show a server to other machines.
  await writeFile(join(home, '.curlrc'), 'silent\nfail\nresolve = tidemark.internal:8420:127.0.0.1\n');
  cleanup(() => stopServed(join(logs, 'pids')));
  const PATH = [bin, process.env.PATH].join(delimiter);
  const env = { PATH, HOME: home, LOGS: logs, TIDEMARK: command, NO_COLOR: '1', PAGER: 'cat' };
  return {
    home,
    run: async (block, cwd) => {
      const { stdout } = await execute('bash', ['-ec', block], { cwd, env }).catch(
        ({ stdout: shown = '', stderr = '', code }) => {
          throw new Error(`${block}\nended with ${code}:\n${shown}${stderr}`);
        },
      );
      return stdout;
    },
  };
}

/** Ends what serves, as Ctrl-C in its terminal would. */
async function stopServed(pids: string): Promise<void> {
  if (!existsSync(pids)) return;
  for (const pid of (await readFile(pids, 'utf8')).trim().split('\n')) {
    process.kill(Number(pid), 'SIGTERM');
    while (await isRunning(pid)) await sleep(WAIT_MS);
  }
}

const WAIT_MS = 20;

/** A process whose parent has ended stays as a zombie where nobody waits for it. */
async function isRunning(pid: string): Promise<boolean> {
  const { stdout } = await execute('ps', ['-o', 'stat=', '-p', pid]).catch(() => ({ stdout: '' }));
  return /^[^Z]/u.test(stdout.trim());
}
