-- The current rows of a target, as a part of other statements.
(from {{history}} where target = $target and valid_to is null)
