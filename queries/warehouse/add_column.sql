-- Adds a declared column to an existing table.
alter table {{table}} add column {{column}} {{type}};
