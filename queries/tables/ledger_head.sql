-- internal: yes
-- grain: one row: the last line of the ledger that this warehouse has seen
create table if not exists ledger_head (
  lines bigint not null, -- number of the line
  digest varchar not null, -- SHA-256 over the line and all before it
  seen_at timestamptz not null, -- when it was seen
  replaced_lines bigint, -- last line of the ledger that a removal replaces; null once the file was seen
  replaced_digest varchar -- SHA-256 over that line and all before it
);
