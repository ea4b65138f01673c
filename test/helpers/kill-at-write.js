// Loaded with `node --import`: kills the process before its KILL_AT-th change of a file.
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

const last = Number(process.env.KILL_AT);
let count = 0;
for (const name of ['copyFile', 'writeFile', 'open', 'rename', 'rm', 'chmod', 'mkdir']) {
  const change = fs.promises[name];
  fs.promises[name] = (...args) => {
    count += 1;
    if (count === last) process.kill(process.pid, 'SIGKILL');
    return change(...args);
  };
}
syncBuiltinESMExports();
