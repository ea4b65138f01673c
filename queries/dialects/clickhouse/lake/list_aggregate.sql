arrayStringConcat(arrayMap(item -> item.2, arraySort(groupArray((lake_member.rank, lake_member.member)))), ', ')
