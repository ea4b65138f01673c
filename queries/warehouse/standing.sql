-- The rows of a target that a table holds now, as a part of other statements.
(from {{history}} where target = $target and valid_to is null)
