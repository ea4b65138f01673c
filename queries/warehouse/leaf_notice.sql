-- How long before its end a leaf certificate should have been renewed: `certificateDays`, or of a life of less than twice that the last tenth.
-- {{scope}}: empty, or `temp ` for one connection
-- defined: after the views, and where it is missing
create or replace {{scope}}macro leaf_notice(valid_after, valid_before, certificate_days) as
  case
    when valid_after is null or valid_before - valid_after > to_seconds(certificate_days::double * 2 * 86400)
      then to_seconds(certificate_days::double * 86400)
    else to_seconds((epoch(valid_before) - epoch(valid_after)) / 10)
  end;
