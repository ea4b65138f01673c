-- As `queries/lake/time_argument.sql`, for Spark.
least({{latest}}, max(at_time))
