-- order: 50
-- report: keys
-- label: keys overdue for rotation
-- one: key overdue
-- many: keys overdue
-- sources: keys
-- grain: one row; none where the rules were never assessed for a whole target of the digest
from mail_finding_numbers(['key-rotation-overdue'], null, $since);
