create or replace function {{name}}(at_time timestamp) returns table
return
{{query}};
