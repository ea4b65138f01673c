-- The subjects that were ever seen, of all kinds.
-- {{candidates}}: the union of `candidates.sql` for each kind
create or replace temp table subject_candidates as
{{candidates}}
