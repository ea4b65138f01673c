-- grain: one row per target and version in use of a tool or product, as of a time, with what was known of its support then.
-- A version belongs to the cycle that it begins with. What ends with the release of another cycle ended when that was released.
-- Nothing is concluded about what the facts do not cover: they are about the community editions, and end with their day.
-- defined: after the views
create or replace macro version_support_at(at_time) as table
-- A platform that is asked what it is, and does not say that it is one of HashiCorp's, may run either tool; the other one begins with 1.6. A
-- policy that names one of the two says which one. A platform that could not be asked is what it said last.
with
  last_said as (
    select target, arg_max(product, valid_from) as product
    from servers_history
    where valid_from <= at_time::timestamptz and product is not null
    group by target
  ),
  platforms as (
    select asked.target, coalesce(servers.product, if(servers.note is not null, last_said.product, null)) as product
    from (
      select target
      from pulls
      where source = 'servers' and as_of <= at_time::timestamptz
      group by target
      having arg_max(status, as_of) <> 'left-out'
    ) as asked
    left join servers_at(at_time) as servers using (target)
    left join last_said using (target)
  ),
  tools as (
    select case when count(distinct name) = 1 then any_value(name) else 'terraform or opentofu' end as name
    from version_policy
    where kind = 'tool'
  ),
  held as (
    select
      used.target,
      'tool' as kind,
      if(
        platforms.target is null
        or platforms.product in ('hcp-terraform', 'terraform-cloud', 'terraform-enterprise')
        or semver_key(used.version) < semver_key('1.6.0-0'),
        'terraform',
        tools.name
      ) as name,
      used.version,
      used.used_by,
      null as note,
    from (
      select target, workspace_iac_version as version, count(*) as used_by
      from workspaces_at(at_time)
      group by all
    ) as used
    cross join tools
    left join platforms on platforms.target = used.target
    union all
    select target, 'product', product, version, 1, note
    from servers_at(at_time)
  ),
  known as (from lifecycle_at(at_time)),
  facts as (
    select known.* replace (coalesce(known.support_ends_at, following.released_at) as support_ends_at)
    from known
    left join known as following
      on following.product = known.product and following.cycle = known.ends_with
  ),
  covered as (select product, max(data_as_of) as data_as_of from facts group by product)
select
  held.target,
  held.kind,
  held.name,
  held.version,
  held.used_by,
  facts.cycle,
  facts.support_ends_at,
  facts.ends_with,
  facts.latest,
  coalesce(facts.data_as_of, covered.data_as_of) as data_as_of,
  case
    when facts.cycle is null then 'unknown'
    when facts.support_ends_at <= at_time::timestamptz or facts.ended then 'ended'
    when facts.support_ends_at is not null then 'ends'
    else 'not known yet'
  end as support,
  case
    when facts.cycle is not null then null
    when held.name is null then coalesce(held.note, 'it does not tell what it is')
    when held.version is null then coalesce(held.note, 'its version is not known')
    when covered.product is null then format('nothing is known of the support of {}', held.name)
    when contains(held.version, '+') then format('{} {} is not of the community edition', held.name, held.version)
    else format('nothing is known of the support of {} {}', held.name, held.version)
  end as why,
from held
left join covered on covered.product = held.name
left join facts
  on facts.product = held.name
  and starts_with(ltrim(regexp_extract(held.version, '^[^+-]*'), 'v') || '.', facts.cycle || '.')
  and not contains(held.version, '+')
-- A server that tells no version, of a product without facts, is a service without versions.
where held.kind = 'tool' or covered.product is not null or held.version is not null or held.note is not null or held.name is null
qualify row_number() over (partition by held.target, held.kind, held.name, held.version order by length(facts.cycle) desc) = 1;
