import { bareNode, TIDEMARK, timed } from './processes.ts';
import { median, milliseconds, type Part } from './result.ts';

const RUNS = 15;
const MAX_MORE_MS = 250;

export const start: Part = {
  name: 'start',
  about: 'start of the command, compared with the start of Node',
  async measure({ folder }) {
    const more: number[] = [];
    for (let run = 0; run < RUNS; run++) {
      const alone = await bareNode(folder);
      const { wallMs } = await timed(folder, [TIDEMARK, '--version']);
      more.push(wallMs - alone.wallMs);
    }
    const moreMs = median(more);
    return [
      {
        part: 'start',
        what: '`tidemark --version`, time beyond that of `node -e 0`',
        measured: milliseconds(moreMs),
        against: milliseconds(MAX_MORE_MS),
        ratio: moreMs / MAX_MORE_MS,
        aim: 1,
      },
    ];
  },
};
