-- grain: as candidates, what the rules return with the policy of the last run
create or replace temp table flagged_before as
select *, rowid as place from candidates;
