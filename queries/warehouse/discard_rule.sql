delete from candidates where rule = $rule;
