-- As `queries/lake/time_argument.sql`, for ClickHouse.
least({{latest}}, {at_time:DateTime64(6, 'UTC')})
