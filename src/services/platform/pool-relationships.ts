/**
 * The relationships of an agent pool that do not use it: its own ones, and those that say who may use it. Any other one uses the pool,
 * also one that Tidemark does not know: docs/services/platform.md#agent-pools. Read by the rules and, just before an action, by the guards.
 */
export const NO_POOL_USE =
  'workspaces|agents|authentication-tokens|organization|(allowed|excluded)-(workspaces|projects|stacks|modules)';
