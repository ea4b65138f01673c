least(max(as_of), at_time::timestamptz)
