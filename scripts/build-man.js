// Writes dist/tidemark.1, the manual page, from the help of the built commands.
import { writeFileSync } from 'node:fs';
import { defineAllCommands } from '../dist/commands/index.js';
import { formatManPage } from '../dist/commands/man-page.js';
import { createProgram } from '../dist/commands/program.js';
import { createColors } from '../dist/core/color.js';
import { version } from '../dist/core/paths.js';

const output = { stdout: () => {}, stderr: () => {}, colors: createColors(false) };
const program = await defineAllCommands(createProgram(output), () => {
  throw new Error('no command runs here');
});
const date = new Date().toISOString().slice(0, 10);
writeFileSync(new URL('../dist/tidemark.1', import.meta.url), formatManPage(program, version, date));
