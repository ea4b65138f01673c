-- Writes the result of an evaluation. Rows that change are replaced: an update keeps the old and the new values of every row in memory until
-- the commit. Whoever chooses the names of two subjects can find some whose findings have one ID.
delete from findings using transition
where
  findings.finding_id = transition.finding_id
  and findings.rule = transition.rule
  and findings.target = transition.target
  and findings.subject_id = transition.subject_id
  and not transition.is_same;
