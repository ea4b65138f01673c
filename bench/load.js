// Runs a TypeScript file of this folder without a build: `node bench/load.js main csv` calls `main` of bench/main.ts.
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
// Closing the server would wait for modules that are not needed.
process.exit();
