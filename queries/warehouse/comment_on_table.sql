comment on {{kind}} {{table}} is {{text}};
