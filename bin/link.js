// `npx tidemark` inside a checkout finds commands in node_modules/.bin only; npm links the bins of dependencies there, not our own.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';

const directory = new URL('../node_modules/.bin/', import.meta.url);
if (process.platform !== 'win32') {
  mkdirSync(directory, { recursive: true });
  const link = new URL('tidemark', directory);
  rmSync(link, { force: true });
  symlinkSync('../../bin/tidemark.js', link);
}
