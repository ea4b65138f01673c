-- grain: one row per member to end (`held_row`) or to add (`rank`) in the lists of changed and deleted rows; a moved member is both
-- A member that stays in order keeps its rank; a new or moved one gets a rank between its neighbours. If the fractions between
-- two neighbours are used up, the whole list is ranked again. Only the lists in which a member has moved, which are few, need
-- windows with frames over all their members. {{targets}}: the targets of the stage, as literals.
-- {{first}}, {{last}}: the rows of the delta whose lists are read, a part of them.
create or replace temp table member_changes as
with
  part as (
    select stage_row, history_row
    from delta_{{table}}
    where rowid between {{first}} and {{last}} and history_row is not null
  ),
  changed as (
    select {{key}}, string_split(list_text, ', ') as names
    from stage_{{table}}
    where rowid in (select stage_row from part where stage_row is not null)
    union all
    select {{key}}, null as names
    from {{table}}_rows
    where rowid in (select history_row from part where stage_row is null)
  ),
  lists as (
    select *, row_number() over () as list_id
    from changed
  ),
  hashed as (
    select list_id, hash(unnest(names)) as member
    from lists
  ),
  -- Only these lists need a window over their members.
  repeating as (
    select distinct list_id
    from hashed
    group by list_id, member
    having count(*) > 1
  ),
  repeated as (
    select list_id, unnest(names) as member, generate_subscripts(names, 1) as position
    from lists
    semi join repeating using (list_id)
  ),
  numbered as (
    select list_id, unnest(names) as member, generate_subscripts(names, 1) as position, 1 as nth
    from lists
    anti join repeating using (list_id)
    union all
    select list_id, member, position, row_number() over (partition by list_id, member order by position) as nth
    from repeated
  ),
  held as (
    select lists.list_id, held.member, held.nth, held.rank, held.rowid as held_row
    from {{table}}_members as held
    inner join lists on {{heldKey}}
    where held.target in ({{targets}}) and held.valid_to is null
  ),
  -- Without a position: removed. Without a held row: added.
  matched as (
    select list_id, member, nth, numbered.position, held.held_row, held.rank as held_rank
    from numbered
    full join held using (list_id, member, nth)
  ),
  steps as (
    select list_id, held_rank < lag(held_rank) over (partition by list_id order by position) as is_behind
    from matched
    where position is not null and held_row is not null
  ),
  moved as (
    select distinct list_id
    from steps
    where is_behind
  ),
  -- Lists in order: the new members between their neighbours. Members that follow one another have the same neighbours.
  added as (
    select *, position - row_number() over (partition by list_id order by position) as run
    from matched
    anti join moved using (list_id)
    where held_row is null
  ),
  runs as (
    select list_id, run, min(position) - 1 as before, max(position) + 1 as after
    from added
    group by list_id, run
  ),
  neighbours as (
    select runs.list_id, runs.run, lower.held_rank as below, upper.held_rank as above
    from runs
    left join matched as lower on lower.list_id = runs.list_id and lower.position = runs.before
    left join matched as upper on upper.list_id = runs.list_id and upper.position = runs.after
  ),
  -- The other lists: a member that is behind every earlier one keeps its rank.
  ordered as (
    select
      *,
      max(held_rank) over (
        partition by list_id order by position rows between unbounded preceding and 1 preceding
      ) as highest_before,
    from matched
    semi join moved using (list_id)
    where position is not null
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
    select list_id, member, nth, position, held_row, below, above
    from added
    inner join neighbours using (list_id, run)
    union all by name
    select list_id, member, nth, position, held_row, below, above
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
  differences as (
    select list_id, member, nth, rank, held_row
    from placed
    anti join full_lists using (list_id)
    union all by name
    select list_id, held_row
    from matched
    anti join full_lists using (list_id)
    where position is null
    union all by name
    select list_id, member, nth, position as rank, held_row
    from matched
    semi join full_lists using (list_id)
  )
select {{listsKey}}, member, nth, rank, held_row
from differences
inner join lists using (list_id);
