-- the number of versions that were known at $as_of
(select count(*) from {{history}} where valid_from <= $as_of::timestamptz)
