import { type RunningSandbox, type StartOptions, startSandbox } from '../../sandbox/index.ts';

/** The sandbox with the hostile estate, whose names are attacks: tests work on it unless they are about the company. */
export function startTestSandbox(options: StartOptions = {}): Promise<RunningSandbox> {
  return startSandbox({ seed: 'hostile', ...options });
}
