-- The function of a relation as of a time, for a reader of the lake.
create or replace macro {{name}}(at_time) as table
{{query}};
