-- As `queries/lake/list_aggregate.sql`, for ClickHouse.
arrayStringConcat(arrayMap(item -> item.2, arraySort(groupArray(({{rank}}, {{member}})))), ', ')
