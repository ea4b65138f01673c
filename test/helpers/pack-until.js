// Packs the landings of a run, and ends itself with SIGKILL before a change of the file system.
// usage: pack-until.js MODULES DATA RUN STEP
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , modules, data, run, step] = process.argv;
let steps = 0;

/** Makes a method count as a step. */
function count(owner, name) {
  const original = owner[name];
  owner[name] = function counted(...words) {
    steps += 1;
    if (steps === Number(step)) process.kill(process.pid, 'SIGKILL');
    return original.apply(this, words);
  };
}

const handle = await fs.promises.open(process.execPath, 'r');
for (const name of ['write', 'sync', 'close']) count(Object.getPrototypeOf(handle), name);
for (const name of ['open', 'rename', 'rm']) count(fs.promises, name);
syncBuiltinESMExports();
const { packLandings } = await import(pathToFileURL(join(modules, 'landing', 'pack.js')).href);
await packLandings({ data }, [run], new AbortController().signal, (_, error) => {
  throw error;
});
