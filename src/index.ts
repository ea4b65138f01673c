/**
 * Tidemark as a library: every operation of the five services, typed from its declaration.
 *
 * ```ts
 * import { connect, loadConfig, platform } from 'tidemark';
 * const answer = await connect(target, options).call(platform.agents.list, { agent_pool_id: 'apool-1' });
 * ```
 */
export { type Config, loadConfig, type Target, type TargetKind } from './core/config.ts';
export { TidemarkError } from './core/errors.ts';
export { createLog, type Log } from './core/log.ts';
export { createRedactor, type Redactor } from './core/redact.ts';
export { createLimiter, type Limiter, limiterFor } from './http/limiter.ts';
export { createMeter, type Meter } from './http/meter.ts';
export { type Failure, ServiceError } from './http/service-error.ts';
export type { Timing } from './http/timing.ts';
export type { Answer, Page } from './services/answer.ts';
export {
  type CallOptions,
  type ConnectOptions,
  connect,
  type DownloadOptions,
  type Service,
} from './services/connect.ts';
export type { Downloaded } from './services/download.ts';
export { autoscaler, mesh, operations, platform, scheduler, secrets } from './services/index.ts';
export type { Args, ArgsOf, Operation, Param } from './services/operation.ts';
