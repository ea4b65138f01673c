-- As `queries/lake/list_aggregate.sql`, for Trino.
array_join(array_agg({{member}} order by {{rank}}), ', ')
