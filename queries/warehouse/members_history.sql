-- The history of a table whose list column is kept member by member: the list is put together again as it was sent.
-- {{columnsWithList}}: every column of `version`, the list read back from its members.
create or replace view {{table}}_history as
select
  {{columnsWithList}},
  version.valid_from,
  version.valid_to,
from {{table}}_rows as version;
