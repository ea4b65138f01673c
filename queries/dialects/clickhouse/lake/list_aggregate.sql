arrayStringConcat(arrayMap(item -> item.2, arraySort(groupArray(({{rank}}, {{member}})))), ', ')
