import type { Kind } from '../../../sandbox/types.ts';

export interface PlaybookCase {
  readonly playbook: string;
  /** The services that its actions change. */
  readonly kind: Kind;
  /** What its first run pulls beside the sources of its rule. */
  readonly sources?: readonly string[];
  /** False where a second request of the same action does it twice. @default true */
  readonly isRepeatable?: boolean;
}

/** Every playbook, for the tests of what services do while it acts. */
export const PLAYBOOKS: readonly PlaybookCase[] = [
  { playbook: 'reap-dead-agents', kind: 'platform' },
  { playbook: 'remove-empty-pools', kind: 'platform' },
  { playbook: 'scope-unused-pools', kind: 'platform' },
  { playbook: 'pin-drift-view', kind: 'platform', sources: ['saved_views'], isRepeatable: false },
  { playbook: 'drop-dead-views', kind: 'platform' },
  { playbook: 'rotate-old-keys', kind: 'secrets', isRepeatable: false },
  { playbook: 'retire-old-key-versions', kind: 'secrets' },
  { playbook: 'remove-retired-keys', kind: 'secrets' },
  { playbook: 'remove-empty-providers', kind: 'secrets' },
  { playbook: 'downgrade-management-roles', kind: 'secrets' },
  { playbook: 'trim-anonymous-policy', kind: 'scheduler' },
  { playbook: 'detach-lost-claims', kind: 'scheduler' },
  { playbook: 'deregister-missing-volumes', kind: 'scheduler' },
  { playbook: 'adopt-orphaned-volumes', kind: 'scheduler', sources: ['external_volumes'] },
  { playbook: 'snapshot-unprotected-volumes', kind: 'scheduler', sources: ['external_volumes'], isRepeatable: false },
  { playbook: 'drop-stale-snapshots', kind: 'scheduler' },
];

/** Every other playbook meets lies, and the rest is blind: to prepare one takes longer than what it meets. test/long has both for all. */
export const LIED_TO = PLAYBOOKS.filter((_, index) => index % 2 === 1);
export const BLINDED = PLAYBOOKS.filter((_, index) => index % 2 === 0);
