-- Reveals the macro of the warehouse, which an earlier rendering hid on this connection.
drop macro table if exists temp.source_state_at;
