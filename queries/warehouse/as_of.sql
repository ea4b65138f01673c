-- Hides a table behind what was known at a moment.
create temp view {{table}} as from {{at}}({{moment}});
