array_join(array_agg(lake_member.member order by lake_member.rank), ', ')
