-- What a column means, for people who query it.
comment on column {{table}}.{{column}} is {{text}};
