export type { FaultHook, Flavor, RunningSandbox, SandboxChange, StartOptions } from '../../sandbox/index.ts';

/** The services on the loopback interface. Commands without them never load it. */
export const loadSandbox = () => import('../../sandbox/index.ts');
