import { type Colors, createColors } from '../core/color.ts';
import type { Context } from '../core/context.ts';
import { plural } from '../core/plural.ts';
import type { JobResult } from '../run/run-job.ts';

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
const FRAME_MS = 80;
const CLEAR_LINE = '\r\u001B[2K';

/** A line for each night of a demo; on a terminal with colour, and with a spinner while the night runs. */
export class DemoProgress {
  readonly #context: Context;
  readonly #nights: number;
  readonly #colors: Colors;
  #timer: NodeJS.Timeout | undefined;

  constructor(context: Context, nights: number) {
    this.#context = context;
    this.#nights = nights;
    this.#colors = createColors(context.terminal !== undefined && context.colors.isColorSupported);
  }

  begin(night: number, at: Date): void {
    const { terminal } = this.#context;
    if (!terminal) return;
    let frame = 0;
    const draw = () => {
      const spinner = this.#colors.cyan(FRAMES[frame++ % FRAMES.length]!);
      terminal.write(`${CLEAR_LINE}${spinner} night ${night} of ${this.#nights}, ${formatDay(at)}`);
    };
    draw();
    this.#timer = setInterval(draw, FRAME_MS);
    this.#timer.unref();
  }

  /** Ends the spinner. */
  stop(): void {
    clearInterval(this.#timer);
    this.#context.terminal?.write(CLEAR_LINE);
  }

  /** Writes an error above the spinner. */
  error(line: string): void {
    this.#context.terminal?.write(CLEAR_LINE);
    this.#context.log.error(line);
  }

  report(night: number, story: string, result: JobResult): void {
    const stale = result.pulls.filter(({ status }) => status !== 'complete').length;
    const { yellow, bold, dim } = this.#colors;
    const number = bold(`night ${String(night).padStart(2)}`);
    const numbers = formatNumbers(result, stale);
    this.#context.log.info(
      `${number}  ${formatDay(new Date(result.as_of))}  ${stale > 0 ? yellow(story) : story}  ${dim(numbers)}`,
    );
  }
}

/** `Tue 17 Nov`, in UTC. */
function formatDay(date: Date): string {
  const parts = { weekday: 'short', day: '2-digit', month: 'short', timeZone: 'UTC' } as const;
  return date.toLocaleDateString('en-GB', parts).replace(',', '');
}

function formatNumbers({ findings, pulls }: JobResult, stale: number): string {
  const { baseline = 0, found = 0, reopened = 0, resolved = 0, deleted = 0, unassessed = 0 } = findings ?? {};
  if (baseline > 0 && found === 0) return `${plural(baseline, 'finding')} in ${plural(pulls.length, 'source')}`;
  const change = `findings: +${found + reopened} −${resolved + deleted}`;
  return stale === 0
    ? change
    : `${change}; stale: ${plural(stale, 'source')}, unassessed: ${plural(unassessed, 'finding')}`;
}
