-- The history of a table with a list column, with each list in its original order.
-- {{columnsWithList}}: every column of `version`, with the list built from its members.
create or replace view {{table}}_history as
select
  {{columnsWithList}},
  version.valid_from,
  version.valid_to,
from {{table}}_rows as version;
