insert into find_rules values ($rule, $severity, $subject, $sources::varchar[], $error::varchar);
