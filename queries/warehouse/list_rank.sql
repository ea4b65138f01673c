-- grain: one row per member of a list that changed; `held_row` points at the open version if member and place are unchanged
-- A member that stays in order keeps its rank; a new or moved one gets a rank between its neighbours. If the fractions between
-- two neighbours are used up, the whole list is ranked again. Where no member has moved, as in most lists, only the new ones are
-- compared with their neighbours; the windows over all members are for the other lists.
create or replace temp table ranked as
with
  changed as (
    select {{key}}
    from stage_{{table}}
    where rowid in (select stage_row from delta_{{table}} where stage_row is not null)
  ),
  split as (
    select {{listsKey}}, row_number() over () as list_id, string_split(lists.list, ', ') as names
    from lists_{{table}} as lists
    semi join changed on {{changedKey}}
    where lists.list is not null
  ),
  members as (
    select list_id, unnest(names) as member, generate_subscripts(names, 1) as position
    from split
  ),
  numbered as (
    select *, row_number() over (partition by list_id, member order by position) as nth
    from members
  ),
  held as (
    select split.list_id, held.member, held.nth, held.rank, held.rowid as held_row
    from {{table}}_members as held
    inner join split on {{heldKey}}
    where held.target = $target and held.valid_to is null
  ),
  matched as (
    select numbered.*, held.held_row, held.rank as held_rank
    from numbered
    left join held on held.list_id = numbered.list_id and held.member = numbered.member and held.nth = numbered.nth
  ),
  orders as (
    select list_id, list(held_rank order by position) filter (where held_rank is not null) as ranks
    from matched
    group by list_id
  ),
  unmoved as (
    select list_id
    from orders
    where ranks is null or ranks = list_sort(ranks)
  ),
  -- Lists in order: the new members between their neighbours.
  stays as (
    select *
    from matched
    semi join unmoved on unmoved.list_id = matched.list_id
    where held_row is not null
  ),
  added as (
    select *
    from matched
    semi join unmoved on unmoved.list_id = matched.list_id
    where held_row is null
  ),
  neighbours as (
    select added.*, lower.held_rank as below, upper.held_rank as above
    from added
    asof left join stays as lower on lower.list_id = added.list_id and added.position > lower.position
    asof left join stays as upper on upper.list_id = added.list_id and added.position < upper.position
  ),
  -- The other lists: a member that is behind every earlier one keeps its rank.
  ordered as (
    select
      *,
      max(held_rank) over (
        partition by list_id order by position rows between unbounded preceding and 1 preceding
      ) as highest_before,
    from matched
    anti join unmoved on unmoved.list_id = matched.list_id
  ),
  kept as (
    select * exclude (highest_before), case when held_rank > coalesce(highest_before, '-infinity') then held_rank end as kept_rank
    from ordered
  ),
  between_kept as (
    select
      *,
      max(kept_rank) over (partition by list_id order by position rows between unbounded preceding and current row) as below,
      min(kept_rank) over (partition by list_id order by position rows between current row and unbounded following) as above,
    from kept
  ),
  gaps as (
    select list_id, member, nth, position, below, above
    from neighbours
    union all by name
    select list_id, member, nth, position, below, above
    from between_kept
    where kept_rank is null
  ),
  counted as (
    select
      *,
      row_number() over (partition by list_id, below order by position) as place,
      count(*) over (partition by list_id, below) as places,
    from gaps
  ),
  placed as (
    select
      *,
      case
        when below is null and above is null then place
        when below is null then above - (places + 1 - place)
        when above is null then below + place
        else below + (above - below) * place / (places + 1)
      end as rank,
      -- Half a step that changes nothing: two members of the gap could get the same rank.
      below + (above - below) / (places + 1) / 2 <= below or above - (above - below) / (places + 1) / 2 >= above as is_full,
    from counted
  ),
  full_lists as (
    select distinct list_id
    from placed
    where is_full
  ),
  all_members as (
    select list_id, member, nth, position, rank, null as held_row
    from placed
    union all by name
    select list_id, member, nth, position, held_rank as rank, held_row
    from stays
    union all by name
    select list_id, member, nth, position, kept_rank as rank, held_row
    from between_kept
    where kept_rank is not null
  )
select
  {{splitKey}},
  member,
  nth,
  case when full_lists.list_id is not null then position else rank end as rank,
  case when full_lists.list_id is null then held_row end as held_row,
from all_members
inner join split on split.list_id = all_members.list_id
left join full_lists on full_lists.list_id = all_members.list_id;
