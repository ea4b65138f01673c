// Publishes a warehouse, and ends itself with SIGKILL before a write to the lake.
// usage: publish-until.js MODULES CONFIG LAKE WRITE
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [, , modules, file, lake, write] = process.argv;
const load = (path) => import(pathToFileURL(join(modules, path)).href);
const { loadConfig } = await load('config/config.js');
const { Redactor } = await load('core/redact/redactor.js');
const { publishToLake } = await load('lake/publish.js');
const { createDirectoryStore } = await load('lake/store.js');

let writes = 0;
const store = createDirectoryStore(lake);
for (const name of ['createIfAbsent', 'put', 'putFile', 'remove']) {
  const original = store[name];
  store[name] = (...words) => {
    writes += 1;
    if (writes === Number(write)) process.kill(process.pid, 'SIGKILL');
    return original(...words);
  };
}
const config = loadConfig(file, {}, new Redactor(), { needsSecrets: false });
await publishToLake({ config, store, now: new Date() });
