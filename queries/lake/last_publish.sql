-- grain: one row: the last publish of the writer that readers see, null for none, and the last one of all
select
  (select max(publish) from lake_runs) as own,
  (select max(publish) from lake_publishes) as any_writer;
