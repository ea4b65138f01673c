create or replace macro {{name}}(at_time) as table
{{query}};
