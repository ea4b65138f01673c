import java.sql.*;
import java.util.Properties;

/** Reads the published file as DBeaver does. Its arguments: the address, a property of the driver, and its value. */
class Workspaces {
  public static void main(String[] args) throws SQLException {
    Properties properties = new Properties();
    properties.setProperty(args[1], args[2]);
    try (Connection warehouse = DriverManager.getConnection(args[0], properties);
        ResultSet rows = warehouse.createStatement().executeQuery(
            "select project_name, count(*) as workspaces from workspaces group by all order by all")) {
      while (rows.next()) System.out.println(rows.getString("project_name") + " " + rows.getLong("workspaces"));
    }
  }
}
