select count(*) as rows
from {{rows}};
