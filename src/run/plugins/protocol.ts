import type { Playbook } from '../../act/define.ts';
import type { ObjectRequest, SourceDefinition } from '../../extract/sources/source.ts';
import type { LandingWriter } from '../../landing/writer.ts';
import type { ServiceClient } from '../../services/client.ts';
import type { Operation } from '../../services/operation.ts';
import type { Row } from '../../warehouse/values.ts';

/** What a plugin's thread and the others tell each other. */

/** A source without its functions. */
export type SourceInfo = Pick<SourceDefinition, 'name' | 'kind' | 'flavor'> & {
  readonly operations: readonly Operation[] | undefined;
  readonly unchanged: { readonly list?: string | readonly string[] } | undefined;
  /** Fallbacks; undefined where the source declares none. */
  readonly fallbacks: number | undefined;
};

export interface PluginInfo {
  readonly sources: readonly SourceInfo[] | undefined;
  /** The playbooks without their functions; undefined where the plugin declares none. */
  readonly playbooks: readonly Playbook[] | undefined;
}

/** What a thread is asked to do. It loads the plugin first. */
export type Task =
  | { readonly kind: 'describe' }
  | {
      readonly kind: 'extract';
      readonly source: number;
      readonly fallback: number | undefined;
      readonly context: RemoteContext;
    }
  | {
      readonly kind: 'check';
      readonly source: number;
      readonly client: RemoteClient;
      readonly onUnknown: Parameters<SourceDefinition['checkAccess']>[1];
    };

export interface RemoteClient {
  readonly target: ServiceClient['target'];
  readonly call: ServiceClient['call'];
  readonly download: ServiceClient['download'];
  /** `next` has a page each time, then undefined. */
  readonly openPages: (...args: Parameters<ServiceClient['pages']>) => Promise<PageCursor>;
}

export interface PageCursor {
  readonly next: () => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** An `ExtractContext` as it crosses: every function is asynchronous. */
export interface RemoteContext {
  readonly client: RemoteClient;
  readonly landing: LandingWriter;
  readonly log: Readonly<Record<'info' | 'warn' | 'error', (line: string) => void>>;
  readonly metrics: unknown;
  readonly asOf: string;
  readonly concurrency: number;
  readonly once: (name: string, request: () => Promise<unknown>) => Promise<unknown>;
  readonly objects: (
    list: unknown,
  ) => Promise<{ readonly land: (key: string, request: ObjectRequest) => Promise<void> }>;
  readonly knownParts: () => Promise<ReadonlySet<string | null>>;
  readonly query: (name: string) => Promise<readonly Row[]>;
}
