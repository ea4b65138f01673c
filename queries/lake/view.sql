create or replace {{temp}} view {{name}} as
{{query}};
