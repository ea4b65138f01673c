least(max(as_of), {at_time:DateTime64(6, 'UTC')})
