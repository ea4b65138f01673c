-- A fragment: the time that a function is asked for, but none after the last publish.
least({{latest}}, max(at_time::timestamptz))
