-- grain: one row per target and source that was ever pulled: whether its listing is known to contain everything that the service has
-- why: why it is not; null where it is
-- parameters: $as_of; $stale_hours
-- docs/decisions.md#what-a-listing-proves gives the reason for each case.
create or replace temp table listing_proofs as
with
  recent_tokens as (
    select tokens.*, true as is_known
    from tokens
    join evaluated_sources as state on state.target = tokens.target and state.source = 'tokens'
    where state.status = 'complete' and state.as_of >= $as_of::timestamptz - to_seconds($stale_hours * 3600)
  ),
  facts as (
    select
      state.target,
      state.source,
      coalesce(configured.sees[state.source], configured.sees['*']) as declared,
      configured.flavor = 'hashicorp' as is_product,
      if(configured.flavor = 'hashicorp', ' (pull the source tokens)', ' (declare it as `sees` of the target)') as advice,
      coalesce(configured.namespace, if(configured.flavor = 'hashicorp', 'default', '*')) as namespace,
      coalesce(tokens.is_known, false) as is_token_known,
      coalesce(tokens.is_management or tokens.type = 'acl-disabled', false) as sees_everything,
      coalesce(tokens.sees_every_namespace, false) as sees_every_namespace,
    from evaluated_sources as state
    left join configured_targets as configured using (target)
    left join recent_tokens as tokens using (target)
  ),
  judged as (
    select
      target,
      source,
      case
        when declared = 'all' then null
        when declared = 'partial' then format('the target declares that it sees only a part of {}', source)
        when source = 'acl_policies' and sees_everything then null
        when source = 'acl_policies' and is_token_known
          then 'the token is not a management token, so it sees only its own policies'
        when source = 'acl_policies'
          then 'a token that is not a management token sees only its own policies, and nothing tells what the token is' || advice
        when source = 'volumes' and namespace <> '*' then format('only the volumes of the namespace {} are listed', namespace)
        when source <> 'volumes' or not coalesce(is_product, false) or sees_everything or sees_every_namespace then null
        when is_token_known then 'the token does not see the volumes of every namespace'
        else 'volumes of namespaces that the token may not read are not listed, and nothing tells what the token is' || advice
      end as why,
    from facts
  )
select target, source, why is null as proven, why
from judged;
