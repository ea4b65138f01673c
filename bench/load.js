// Runs a benchmark's TypeScript without a build of its own: `node bench/load.js main csv` loads bench/main.ts and calls its `main`.
import { fileURLToPath } from 'node:url';
import { createViteServer } from 'vitest/node';

const [name, ...args] = process.argv.slice(2);
const server = await createViteServer({
  root: fileURLToPath(new URL('..', import.meta.url)),
  configFile: false,
  logLevel: 'error',
  appType: 'custom',
  optimizeDeps: { noDiscovery: true },
  server: { middlewareMode: true, hmr: false, watch: null, ws: false },
});
const { main } = await server.ssrLoadModule(`/bench/${name}.ts`);
await main(args);
// Closing the server waits for modules that nobody asked for; nothing of it outlives the process.
process.exit();
