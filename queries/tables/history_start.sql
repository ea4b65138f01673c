-- internal: yes
-- grain: at most one row: since when the history is whole; none where nothing was removed
create table if not exists history_start (
  starts_at timestamptz not null, -- earlier versions were removed after `historyDays`
  pruned_at timestamptz not null -- when they were removed
);
