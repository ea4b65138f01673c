import { QueryProcess as OneCommand } from '../../src/ask/query/query-process.ts';

const idle = new Map<string, OneCommand[]>();

/**
 * Stands for `src/ask/query/query-process.ts` in commands that tests run from source: at the end of a command its process waits for the
 * next command with the same limits, as the workers of `serve` wait for queries. To start one takes longer than most queries.
 */
export class QueryProcess {
  readonly #waiting: OneCommand[];
  readonly #own: OneCommand;

  constructor(...given: ConstructorParameters<typeof OneCommand>) {
    const [{ sql }, env] = given;
    const key = JSON.stringify([sql.memoryLimit, env]);
    this.#waiting = idle.get(key) ?? [];
    idle.set(key, this.#waiting);
    this.#own = this.#waiting.pop() ?? new OneCommand(...given);
  }

  get pid(): number | undefined {
    return this.#own.pid;
  }

  run(...query: Parameters<OneCommand['run']>): ReturnType<OneCommand['run']> {
    return this.#own.run(...query);
  }

  kill(reason: unknown): void {
    this.#own.kill(reason);
  }

  async close(): Promise<void> {
    if (this.#own.pid === undefined) await this.#own.close();
    else this.#waiting.push(this.#own);
  }
}
