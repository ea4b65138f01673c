-- The members that left a list between the versions `o` and `n` of its row, and those that arrived: a list of 10,000 names twice, for
-- one that is new, tells nobody anything.
left join lateral (
  select
    list_transform(list_sort(list({rank: rank, member: member}) filter (was_there)), lambda one: one.member) as "left",
    list_transform(list_sort(list({rank: rank, member: member}) filter (not was_there)), lambda one: one.member) as arrived,
  from (
    select member.member, min(member.rank) as rank, bool_and(was_there) as was_there
    from (
      select
        *,
        valid_from <= o.valid_from and (valid_to is null or valid_to > o.valid_from) as was_there,
        valid_from <= n.valid_from and (valid_to is null or valid_to > n.valid_from) as is_there,
      from {{table}}_members
    ) as member
    where {{sameKey member n}} and was_there <> is_there
    group by member.member
    having count(*) = 1
  ) as moved
) as lists on true
