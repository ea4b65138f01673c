least({{latest}}, max(at_time::timestamptz))
