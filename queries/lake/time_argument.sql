least(max(as_of), max(at_time::timestamptz))
