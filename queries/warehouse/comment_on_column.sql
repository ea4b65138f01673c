comment on column {{table}}.{{column}} is {{text}};
