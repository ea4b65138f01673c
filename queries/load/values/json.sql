-- The value of a JSON column. A cast from text would parse the JSON again.
if({{column}}::json::varchar in ('null', '{}'), null, {{column}}::json)
