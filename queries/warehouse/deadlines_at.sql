-- grain: one row per thing that ends, as of a time: a certificate, a token, the period of a key, an acceptance, and what else
-- queries/deadlines has; ends_at: null where the end is not known
-- {{kind}}: `macro` or `temp macro`; {{kinds}}: the rows of each query
create or replace {{kind}} deadlines_at(at_time) as table
{{kinds}};
