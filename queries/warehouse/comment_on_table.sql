-- What a row is. {{kind}}: `table` or `view`
comment on {{kind}} {{table}} is {{text}};
