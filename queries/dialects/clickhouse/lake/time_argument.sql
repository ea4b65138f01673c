least({{latest}}, {at_time:DateTime64(6, 'UTC')})
