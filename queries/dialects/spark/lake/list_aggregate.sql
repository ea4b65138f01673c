array_join(transform(array_sort(collect_list(struct(lake_member.rank as place, lake_member.member as member))), item -> item.member), ', ')
