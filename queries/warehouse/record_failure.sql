-- The rule of which no row counts: it is not assessed.
update evaluated_rules set error = 'the rule failed' where rule = $rule;
