-- grain: one row: whether a file would have rows
select exists (from {{rows}} where {{which}}) as has_rows;
