insert into find_rules values ($rule, $severity, $subject, from_json($sources, '["varchar"]'), $error::varchar);
