//! Whether a tool or its server is about a database, and whether that speaks SQL.

use super::super::word_list::WordList;
use super::split::{uncut_words, words};

/// What is queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Database {
    /// One that speaks SQL, as far as its name tells.
    Sql,
    /// One that speaks something else.
    Other,
}

/// Names of databases and of what they are made of. Words that end in `sql` or `db` count, too.
const SQL: WordList = WordList(
    "athena bigquery clickhouse cockroach database databases databricks dbs dremio hana hive impala jdbc
    motherduck odbc oracle pg planetscale postgres presto rds redshift snowflake spanner sqlite supabase
    sybase teradata timescale trino turso vertica warehouse",
);

/// Those that speak something else.
const OTHER: WordList = WordList(
    "arangodb cassandra cosmosdb couchbase couchdb cypher dgraph dynamodb falkordb firestore gql graph graphdb
    graphql graphs gremlin influxdb kql kusto memgraph mongo mongodb mongosh neo4j neptune nosql orientdb redis
    sparql splunk surrealdb",
);

/// Looks at every word of both names. What speaks something else counts first: SQL is looked at, the rest is not.
pub(super) fn database(server: &str, tool: &str) -> Option<Database> {
    let all: Vec<String> = [server, tool]
        .into_iter()
        .flat_map(|name| words(name).into_iter().chain(uncut_words(name)))
        .collect();
    if all.iter().any(|word| OTHER.contains(word)) {
        Some(Database::Other)
    } else if all.iter().any(|word| is_sql_word(word)) {
        Some(Database::Sql)
    } else {
        None
    }
}

/// Whether this word is about a database that speaks SQL.
pub(super) fn is_sql_word(word: &str) -> bool {
    SQL.contains(word) || word.ends_with("sql") || word.ends_with("db")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_known_by_a_word_of_either_name() {
        for (server, tool) in [
            ("sqlite", "read_query"),
            ("mcp-server-postgres", "query"),
            ("SQLite", "query"),
            ("BigQuery", "query"),
            ("x", "mysql_query"),
            ("my_db", "query"),
            ("x", "query_database"),
            ("duckdb2", "query"),
        ] {
            assert_eq!(database(server, tool), Some(Database::Sql), "{server} {tool}");
        }
        for (server, tool) in
            [("neo4j", "read_query"), ("mongodb", "find"), ("x", "graphql_query"), ("neo4j-db", "q")]
        {
            assert_eq!(database(server, tool), Some(Database::Other), "{server} {tool}");
        }
        for (server, tool) in [("memory", "search_nodes"), ("github", "search_code"), ("docs", "query_docs")]
        {
            assert_eq!(database(server, tool), None, "{server} {tool}");
        }
    }
}
