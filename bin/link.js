// `npx --no tidemark` in a checkout looks in node_modules/.bin, where npm links the commands of dependencies but not our own.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';

const directory = new URL('../node_modules/.bin/', import.meta.url);
if (process.platform !== 'win32') {
  mkdirSync(directory, { recursive: true });
  const link = new URL('tidemark', directory);
  rmSync(link, { force: true });
  symlinkSync('../../bin/tidemark.js', link);
}
