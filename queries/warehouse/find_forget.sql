delete from find_found where rule = $rule;
