-- As `queries/lake/list_aggregate.sql`, for Spark.
array_join(transform(array_sort(collect_list(struct({{rank}} as place, {{member}} as member))), item -> item.member), ', ')
