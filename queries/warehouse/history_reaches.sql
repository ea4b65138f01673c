-- Whether the history is whole at a time. Of an earlier one nothing is known, so that it is an error and no empty table.
-- defined: before the views
create or replace macro history_reaches(at_time) as
  coalesce(
    (
      select
        case
          when at_time < starts_at then error(format('the history begins at {}: earlier versions were removed after `historyDays`', strftime(starts_at, '%Y-%m-%dT%H:%M:%SZ')))
          else true
        end
      from history_start
    ),
    true
  );
