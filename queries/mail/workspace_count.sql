-- grain: one row
select count(*) filter (where present) as workspaces
from mail_workspaces;
