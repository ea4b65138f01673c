-- grain: one row per playbook with findings that it could act on
-- title: What the playbooks could do
-- about: `tidemark playbook plan NAME` shows what each would do; nothing happens before it is approved.
-- empty: Nothing: no finding stands that a playbook acts on.
-- labels: playbook=Playbook; subjects=Subjects; what=What it does
with
  playbooks (playbook, rule, what) as (
    values
      ('reap-dead-agents', 'dead-agent', 'deletes agents that are dead'),
      ('remove-empty-pools', 'empty-agent-pool', 'deletes pools without agents and workspaces'),
      ('scope-unused-pools', 'unscoped-agent-pool', 'limits pools to the workspaces that use them'),
      ('pin-drift-view', 'drifted-workspace', 'keeps one saved view of the drifting workspaces'),
      ('drop-dead-views', 'dead-saved-view', 'deletes saved views that fail or show nothing'),
      ('rotate-old-keys', 'key-rotation-overdue', 'rotates keys'),
      ('retire-old-key-versions', 'old-key-version-enabled', 'disables old versions of keys'),
      ('remove-retired-keys', 'retired-key', 'removes keys from providers and deletes them'),
      ('remove-empty-providers', 'empty-kms-provider', 'deletes providers without keys'),
      ('downgrade-management-roles', 'management-role', 'makes roles hand out client tokens'),
      ('trim-anonymous-policy', 'anonymous-write', 'reduces the anonymous policy to reading'),
      ('detach-lost-claims', 'lost-volume-claim', 'detaches volumes from ended allocations'),
      ('deregister-missing-volumes', 'missing-external-volume', 'deregisters volumes that are not there'),
      ('adopt-orphaned-volumes', 'orphaned-external-volume', 'registers volumes that nobody registered'),
      ('snapshot-unprotected-volumes', 'unprotected-volume', 'takes snapshots'),
      ('drop-stale-snapshots', 'stale-snapshot', 'deletes snapshots')
  ),
  state_then as (
    select finding_id, rule, arg_max(state, changed_at) as state, min(changed_at) as found_at
    from finding_events
    where changed_at <= $as_of::timestamptz
    group by finding_id, rule
  )
select
  playbooks.playbook,
  count(*) as subjects,
  playbooks.what,
  min(state_then.found_at) as oldest_found_at,
  playbooks.rule,
from playbooks
join state_then using (rule)
where state_then.state in ('new', 'open')
group by all
order by subjects desc, playbooks.playbook;
