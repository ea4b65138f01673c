import pLimit from 'p-limit';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { formatError } from '../core/errors.ts';
import { packLanding, packLandings } from '../landing/pack.ts';
import { listLandings } from '../landing/store.ts';
import { listInFlight } from './resume.ts';

/** Lets `work` pack landings. None is being packed any more when it has ended. */
export async function withLandingPacker<T>(
  config: Config,
  context: Pick<Context, 'log' | 'signal'>,
  work: (packer: LandingPacker) => Promise<T>,
): Promise<T> {
  const packer = new LandingPacker(config, context);
  try {
    return await work(packer);
  } finally {
    await packer.settle();
  }
}

/** Packs landings while a run goes on. One that cannot be packed stays as it is: `finish` tries again and warns, and so does the next run. */
export class LandingPacker {
  readonly #config: Config;
  readonly #context: Pick<Context, 'log' | 'signal'>;
  /** One after another: all processors compress a landing. */
  readonly #limit = pLimit(1);

  constructor(config: Config, context: Pick<Context, 'log' | 'signal'>) {
    this.#config = config;
    this.#context = context;
  }

  /** Begins to pack the landing of a target to which the run writes nothing any more. */
  add(run: string, target: string): void {
    const leave = () => undefined; // `finish` tries again
    void this.#limit(() => packLanding(this.#config, { run, target }, this.#context.signal, leave));
  }

  /** Waits for what was added. */
  async settle(): Promise<void> {
    await this.#limit(() => undefined);
  }

  /** Packs what is left of all runs that are done. */
  async finish(): Promise<void> {
    await this.settle();
    const inFlight = new Set((await listInFlight(this.#config)).map(({ run_id }) => run_id));
    const runs = (await listLandings(this.#config)).filter((run) => !inFlight.has(run));
    await packLandings(this.#config, runs, this.#context.signal, (directory, error) => {
      this.#context.log.warn(`the landing ${directory} stays unpacked: ${formatError(error)}`);
    });
  }
}
