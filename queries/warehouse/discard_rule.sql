-- What a rule has returned, where a part of it is not valid: nothing of it counts.
delete from candidates where rule = $rule;
