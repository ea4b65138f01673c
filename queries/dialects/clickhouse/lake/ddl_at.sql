create or replace view {{name}} as
{{query}};
