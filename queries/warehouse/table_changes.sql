-- The changes of the rows of one table: `n` are versions that begin, `o` those that end. `new`, `gone` and `back` are one row; another
-- change is one row per column. What a source has when it first answers is no change: nothing is known of the time before.
-- {{begins}}, {{ends}}: which versions `n` and `o` count; {{meets}}: which `o` an `n` follows; {{differs}}: which of these pairs may differ;
-- {{wasKnown}}: whether the source answered before `n`; {{heldBefore}}: whether a version `e` was before `n`; {{endedAt}}: when `o` ended;
-- {{unknown}}, {{unknownColumns}}: columns that the service did not tell when `o` or `n` began, and what joins them: that they are null is no change;
-- {{lists}}: the difference of the lists of `o` and `n`; {{sameKey}}: whether two rows have one key; {{sameThing}}: whether a row and `n` are one
-- thing; {{key}}, {{name}}, {{instance}}: of a row; {{columns}}: of `n`; {{earlierInstance}}, {{earlierKey}}: the last other thing that had its
-- key, or its name. An anti join with {{sameThing}} in its condition would compare each row with each.
select "at", target, {{label}} as "table", key, name, item.change, item."column", item.old, item."new"
from (
  select
    "at",
    target,
    key,
    name,
    unnest(
      list_filter(
        items,
        lambda item: item.old is distinct from item."new" and not coalesce(list_contains(unknown, item."column"), false)
      )
    ) as item
  from (
    select n.valid_from as "at", n.target, {{key n}} as key, {{name n}} as name, {{columns}} as items, {{unknown}} as unknown
    from {{history}} as n
    join {{history}} as o on {{sameKey o n}} and {{sameThing o}} and {{meets}}
    {{lists}}
    {{unknownColumns}}
    where {{begins}} and {{ends}} and {{differs}}
  ) as pairs
) as changed
union all
select
  "at",
  target,
  {{label}},
  key,
  name,
  if(was_held, 'back', 'new'),
  null,
  if(was_held, null, coalesce(earlier_instance, earlier_key)),
  case
    when was_held then null
    when earlier_instance is not null then instance
    when earlier_key is not null then key
  end,
from (
  select
    n.valid_from as "at",
    n.target,
    {{key n}} as key,
    {{name n}} as name,
    exists (from {{history}} as e where {{sameKey e n}} and {{sameThing e}} and {{heldBefore}}) as was_held,
    {{instance n}} as instance,
    {{earlierInstance}} as earlier_instance,
    {{earlierKey}} as earlier_key,
  from {{history}} as n
  left join (from {{history}} as o where {{ends}}) as o on {{sameKey o n}} and {{meets}}
  where {{begins}} and {{wasKnown}} and (o.valid_from is null or not {{sameThing o}})
) as appeared
union all
select {{endedAt}}, o.target, {{label}}, {{key o}}, {{name o}}, 'gone', null, null, null
from {{history}} as o
left join (from {{history}} as n where {{begins}}) as n on {{sameKey o n}} and {{meets}}
where {{ends}} and (n.valid_from is null or not {{sameThing o}})
