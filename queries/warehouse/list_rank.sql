-- grain: one row per member of a list that changed; `held_row` points at the open version if member and place are unchanged
-- A member that stays in order keeps its rank; a new or moved one gets a rank between its neighbours. If the fractions between
-- two neighbours are used up, the whole list is ranked again.
create or replace temp table ranked as
with
  changed as (
    select {{key}}
    from stage_{{table}}
    where rowid in (select stage_row from delta_{{table}} where stage_row is not null)
  ),
  split as (
    select {{listsKey}}, string_split(lists.list, ', ') as names
    from lists_{{table}} as lists
    semi join changed on {{changedKey}}
    where lists.list is not null
  ),
  members as (
    select {{key}}, unnest(names) as member, generate_subscripts(names, 1) as position
    from split
  ),
  numbered as (
    select *, row_number() over (partition by {{key}}, member order by position) as nth
    from members
  ),
  held as (
    select rowid as held_row, *
    from {{table}}_members
    where target = $target and valid_to is null
  ),
  matched as (
    select {{numberedKey}}, numbered.member, numbered.nth, numbered.position, held.held_row, held.rank as held_rank
    from numbered
    left join held on {{heldKey}} and held.member = numbered.member and held.nth = numbered.nth
  ),
  ordered as (
    select
      *,
      max(held_rank) over (
        partition by {{key}} order by position rows between unbounded preceding and 1 preceding
      ) as highest_before,
    from matched
  ),
  kept as (
    select * exclude (highest_before), case when held_rank > coalesce(highest_before, '-infinity') then held_rank end as kept_rank
    from ordered
  ),
  between_kept as (
    select
      *,
      max(kept_rank) over (partition by {{key}} order by position rows between unbounded preceding and current row) as below,
      min(kept_rank) over (partition by {{key}} order by position rows between current row and unbounded following) as above,
    from kept
  ),
  counted as (
    select
      *,
      row_number() over (partition by {{key}}, below, kept_rank is null order by position) as place,
      count(*) over (partition by {{key}}, below, kept_rank is null) as places,
    from between_kept
  ),
  placed as (
    select
      *,
      case
        when kept_rank is not null then kept_rank
        when below is null and above is null then place
        when below is null then above - (places + 1 - place)
        when above is null then below + place
        else below + (above - below) * place / (places + 1)
      end as rank,
    from counted
  ),
  checked as (
    select *, rank <= lag(rank) over (partition by {{key}} order by position) as collides
    from placed
  ),
  judged as (
    select *, bool_or(coalesce(collides, false)) over (partition by {{key}}) as is_reranked
    from checked
  )
select
  {{key}},
  member,
  nth,
  case when is_reranked then position else rank end as rank,
  case when not is_reranked and kept_rank is not null then held_row end as held_row,
from judged;
