-- Writes the result of an evaluation. Rows that change are replaced: an update keeps the old and the new values of every row in memory until
-- the commit.
delete from findings using transition where findings.finding_id = transition.finding_id and not transition.is_same;
