-- grain: the one row that tells this warehouse from every other
create table if not exists warehouse_identity (
  warehouse_id varchar not null, -- random; plans name it, so that none is applied from another warehouse
  made_at timestamptz not null -- when it was given
);
