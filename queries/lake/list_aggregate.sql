-- A fragment: the members of a list in their order, as text.
array_to_string(list_transform(list_sort(list({lake_rank: {{rank}}, lake_member: {{member}}})), lambda lake_one: lake_one.lake_member), ', ')
