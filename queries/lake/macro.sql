create or replace {{temp}} macro {{name}}(at_time) as table
{{query}};
