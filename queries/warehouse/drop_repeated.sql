-- A subject that a rule returns twice counts once: with what is known, then with the higher severity, then with the greater weight.
delete from candidates
where
  rowid in (
    select candidates.rowid
    from candidates
    join evaluated_rules using (rule)
    semi join (
      select rule, target, subject_id from candidates where subject_id is not null group by all having count(*) > 1
    ) as repeated using (rule, target, subject_id)
    qualify row_number() over (
      partition by rule, target, subject_id
      order by
        coalesce(candidates.unknown, false),
        list_position(['critical', 'warning', 'info'], coalesce(candidates.severity, evaluated_rules.severity)),
        weight desc nulls last,
        title,
        detail::varchar
    ) > 1
  );
