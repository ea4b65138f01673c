-- Removes a table that the lake does not have: the next migration makes it, as one that is new.
drop table {{stored}};
