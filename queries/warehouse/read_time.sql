-- A time as services write it: ISO 8601, as Go prints it (`2006-01-02 15:04:05 +0000 UTC`), or a Unix time in seconds, milliseconds,
-- microseconds or nanoseconds. 0 and an empty text are none. Another text is an error, as is a number that is too large for any of these:
-- no time may mean "never". What DuckDB reads as it is comes first: the rest takes four times as long. {{scope}} as for semver_key.
-- defined: before the views
create or replace {{scope}}macro read_time(value) as coalesce(
  try_cast(value as timestamptz),
  case
    when regexp_full_match(value, '-?\d{1,19}(\.\d+)?([eE]\+?1?\d)?')
      then make_timestamptz(
        list_transform(
          [try_cast(value as hugeint)],
          lambda number: case
            when number <= 0 then null
            when number >= 100000000000000000 then try_cast(number // 1000 as bigint)
            when number >= 100000000000000 then number::bigint
            when number >= 100000000000 then (number * 1000)::bigint
            else (number * 1000000)::bigint
          end
        )[1]
      )
    else regexp_replace(nullif(value, ''), ' ?([+-]\d\d)(\d\d) [\w+-]+$', '\1:\2')::timestamptz
  end
);
