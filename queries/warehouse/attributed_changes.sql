-- grain: as `changes`, with the action in the ledger that made the change. {{query}}: of attribute.sql
create or replace view attributed_changes as
{{query}};
