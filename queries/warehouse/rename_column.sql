alter table {{table}} rename column {{from}} to {{to}};
