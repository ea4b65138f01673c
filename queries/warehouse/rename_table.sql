alter table {{from}} rename to {{table}};
