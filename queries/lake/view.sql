-- A view of the lake. {{temp}}: `temp`, or nothing
create or replace {{temp}} view {{name}} as
{{query}};
