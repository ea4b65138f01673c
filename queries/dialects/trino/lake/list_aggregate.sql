array_join(array_agg({{member}} order by {{rank}}), ', ')
