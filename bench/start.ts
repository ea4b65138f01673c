import { bareNode, TIDEMARK, timed } from './processes.ts';
import { compareWithLimit, milliseconds, type Part, type Size } from './result.ts';

const RUNS: Readonly<Record<Size, number>> = { quick: 2, usual: 15, large: 15 };
const MAX_MORE_MS = 100;

export const start: Part = {
  name: 'start',
  about: 'the command, beyond the start of Node',
  async measure({ folder, size }) {
    const more = { '--version': [] as number[], '--help': [] as number[] };
    for (let run = 0; run < RUNS[size]; run++) {
      const alone = await bareNode(folder);
      for (const option of ['--version', '--help'] as const) {
        const { wallMs } = await timed(folder, [TIDEMARK, option]);
        more[option].push(wallMs - alone.wallMs);
      }
    }
    return Object.entries(more).map(([option, values]) => ({
      what: `\`tidemark ${option}\`, time beyond that of \`node -e 0\``,
      ...compareWithLimit(values, MAX_MORE_MS, milliseconds),
    }));
  },
};
