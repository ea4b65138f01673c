-- internal: yes
-- grain: one row, which identifies this warehouse
create table if not exists warehouse_identity (
  warehouse_id varchar not null, -- random; plans contain it, so that they apply only to the same warehouse
  made_at timestamptz not null -- when it was set
);
