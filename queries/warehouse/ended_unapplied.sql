-- Whether a run of a status has ended and applied nothing; null for a status that is not reported. {{scope}} as for semver_key.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro ended_unapplied(status) as
  status in ('errored', 'discarded', 'canceled', 'force_canceled', 'policy_soft_failed');
