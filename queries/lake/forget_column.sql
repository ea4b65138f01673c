-- Removes a column that the lake does not have: the next migration adds it, as one that is new.
alter table {{stored}} drop column {{column}};
