// Writes dist/tidemark.1, the manual page, from the help of the built commands.
import { writeFileSync } from 'node:fs';
import { formatManPage } from '../dist/man-page.js';

const page = await formatManPage(new Date().toISOString().slice(0, 10));
writeFileSync(new URL('../dist/tidemark.1', import.meta.url), page);
