comment on column {{name}}.{{column}} is {{comment}};
