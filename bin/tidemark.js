#!/usr/bin/env node
import { existsSync } from 'node:fs';

const entry = new URL('../dist/cli.js', import.meta.url);
if (existsSync(entry)) {
  const { main } = await import(entry.href);
  await main();
} else {
  process.stderr.write('tidemark is not built: run `npm ci` or `npm run build` in the checkout\n');
  process.exitCode = 2;
}
