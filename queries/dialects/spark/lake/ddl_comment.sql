alter view {{name}} set tblproperties ('comment' = {{comment}});
