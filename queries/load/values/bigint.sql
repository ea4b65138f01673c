-- The value of an integer column. Of four numbers up to 2^61 the sum is a bigint: a rule or report that adds larger ones would fail for every
-- target.
if({{column}}::bigint between -2305843009213693951 and 2305843009213693951, {{column}}::bigint, null)
