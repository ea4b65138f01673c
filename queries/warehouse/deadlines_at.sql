-- grain: one row per thing that ends, as of a time: a certificate, a token, the period of a key, an acceptance, and what else
-- queries/deadlines has; ends_at: null where the end is not known
-- {{scope}}: empty, or `temp ` for one connection; {{kinds}}: the rows of each query
create or replace {{scope}}macro deadlines_at(at_time) as table
{{kinds}};
