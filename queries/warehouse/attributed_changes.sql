-- grain: as `changes`, with the action in the ledger that made the change. {{query}}: of attribute.sql, as a literal for the reason of `changes`
create or replace view attributed_changes as
from query({{query}});
