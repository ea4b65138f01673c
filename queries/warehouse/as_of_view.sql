-- Hides a table behind its rows as of a time.
create temp view {{table}} as from {{past}};
