-- A string that sorts as semantic versions do (semver.org, 11: precedence); null if it is not a version, such as `latest` or `~> 1.5`.
-- A leading `v` and build metadata are ignored, missing numbers are 0. A release ends in `~`, a prerelease never does:
-- a release sorts after its prereleases, numeric identifiers before others and by value, fewer identifiers before more.
-- Terraform Enterprise named its releases by month before 1.0.0: `v202507-1` sorts before it, as 0.202507.1.
-- {{scope}}: `temp ` in a warehouse opened read-only, empty to store it.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro semver_key(version) as (
  case
    when regexp_full_match(version, '\s*v?20\d{4}(-\d{1,18})?\s*')
      then concat_ws(
        '.',
        repeat('0', 18),
        lpad(regexp_extract(version, '\d+'), 18, '0'),
        lpad(regexp_extract(version, '-(\d+)', 1), 18, '0'),
        '~'
      )
    when regexp_full_match(version, '\s*v?\d{1,18}(\.\d{1,18}){0,2}(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?(\+[0-9A-Za-z.-]+)?\s*')
      then concat_ws(
        '.',
        lpad(regexp_extract(version, '^\s*v?(\d+)', 1), 18, '0'),
        lpad(regexp_extract(version, '^\s*v?\d+\.(\d+)', 1), 18, '0'),
        lpad(regexp_extract(version, '^\s*v?\d+\.\d+\.(\d+)', 1), 18, '0'),
        case
          when regexp_extract(version, '^[^+-]*-([^+]+)', 1) = '' then '~'
          else array_to_string(
            list_transform(
              string_split(trim(regexp_extract(version, '^[^+-]*-([^+]+)', 1)), '.'),
              lambda identifier: case
                when regexp_full_match(identifier, '\d+') then '0' || lpad(ltrim(identifier, '0'), 40, '0')
                else '1' || identifier
              end
            ),
            ' '
          )
        end
      )
  end
);
