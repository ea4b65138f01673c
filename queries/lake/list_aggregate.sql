string_agg({{member}}, ', ' order by {{rank}})
