//! What is accepted, what is refused, and a model of eleven dialects that must agree with every acceptance.

use proptest::prelude::*;

use super::*;

#[test]
fn a_statement_that_reads_is_accepted() {
    for text in [
        "SELECT 1",
        "select * from users;",
        "  SELECT name, count(*) FROM users WHERE age >= 18 GROUP BY name HAVING count(*) > 1 ORDER BY 2 DESC LIMIT 10 ; ",
        "SELECT u.name FROM users u LEFT JOIN orders o ON o.user_id = u.id AND o.state IN ('new', 'paid')",
        "SELECT 'it''s; DELETE FROM x -- not' AS text",
        "SELECT \"open\", `close`, [high] FROM prices",
        "SELECT a -- the first; DROP TABLE x\nFROM t",
        "SELECT /* DELETE */ a FROM t /* end */",
        "WITH recent AS (SELECT * FROM events WHERE at > '2026-01-01') SELECT count(*) FROM recent",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10) SELECT i FROM n",
        "SELECT CASE WHEN a = 'x' THEN 'y' ELSE 'z' END, coalesce(b, '-'), cast(c AS varchar(10)) FROM t",
        "SELECT row_number() OVER (PARTITION BY a ORDER BY b) FROM t",
        "SELECT strftime('%Y-%m', at) AS month, sum(amount) FROM t GROUP BY month",
        "SELECT data->>'name', a::numeric(10,2), b || 'x' FROM t WHERE c != 1.5e3",
        "SELECT * FROM (SELECT 'a' AS x FROM t WHERE y LIKE '%b%') s WHERE EXISTS (SELECT 1 FROM u)",
        "SELECT name FROM t WHERE größe = 1".replace("größe", "\"größe\"").as_str(),
        "SELECT 'größe'",
        "VALUES (1, 'a'), (2, 'b')",
        "SHOW TABLES",
        "SHOW TABLES LIKE 'a%'",
        "DESCRIBE users",
        "EXPLAIN SELECT * FROM t",
        "EXPLAIN QUERY PLAN SELECT * FROM t",
        "EXPLAIN (FORMAT JSON, VERBOSE) SELECT 1",
        "PRAGMA table_info(users)",
        "PRAGMA table_info('users');",
        "PRAGMA main.index_list(\"users\")",
        "pragma user_version",
        "PRAGMA table_list",
    ] {
        assert!(reads_only(text), "{text}");
    }
}

#[test]
fn a_statement_that_writes_is_refused() {
    for text in [
        "",
        ";",
        "-- nothing",
        "INSERT INTO t VALUES (1)",
        "UPDATE t SET a = 1",
        "DELETE FROM t",
        "DROP TABLE t",
        "CREATE TABLE t AS SELECT 1",
        "REPLACE INTO t VALUES (1)",
        "SELECT * INTO copy FROM t",
        "SELECT 1 INTO OUTFILE 'x'",
        "SELECT * FROM t FOR UPDATE",
        "SELECT * FROM t LOCK IN SHARE MODE",
        "WITH gone AS (DELETE FROM t RETURNING *) SELECT * FROM gone",
        "WITH x AS (SELECT 1) DELETE FROM t",
        "WITH x AS (VALUES (1)) TABLE x",
        "EXPLAIN ANALYZE SELECT 1",
        "EXPLAIN (ANALYZE) SELECT 1",
        "EXPLAIN ANALYSE SELECT 1",
        "SHOW CREATE TABLE t",
        "CALL f()",
        "EXEC xp_cmdshell 'dir'",
        "SET x = 1",
        "COPY t TO PROGRAM 'sh'",
        "ATTACH DATABASE 'x' AS y",
        "VACUUM",
        "BEGIN",
        "FROM t SELECT a",
        "(SELECT 1)",
        "TABLE t",
        "PRAGMA user_version = 1",
        "PRAGMA user_version(1)",
        "PRAGMA journal_mode(DELETE)",
        "PRAGMA writable_schema",
        "PRAGMA optimize",
        "PRAGMA table_info(a, b)",
        "PRAGMA table_info(users); DELETE FROM users",
        "PRAGMA",
    ] {
        assert!(!reads_only(text), "{text}");
    }
}

#[test]
fn a_second_statement_is_refused_with_and_without_a_semicolon() {
    for text in [
        "SELECT 1; DROP TABLE t",
        "SELECT 1;;",
        "SELECT 1; SELECT 2",
        "SELECT 1 DROP TABLE t",
        "SELECT 1 SHUTDOWN",
        "SELECT 1 a WAITFOR DELAY '0:0:9'",
        "SELECT 1 KILL 53",
        "SELECT 1 BACKUP DATABASE x TO DISK = 'y'",
        "SELECT 1 USE master",
        "SELECT 1 IF 1 = 1 SELECT 2",
        "SELECT 1\n\nHOST ls",
    ] {
        assert!(!reads_only(text), "{text}");
    }
}

#[test]
fn a_call_of_what_is_not_known_is_refused() {
    for text in [
        "SELECT load_extension('x')",
        "SELECT readfile('x')",
        "SELECT writefile('x', 'y')",
        "SELECT pg_sleep(10)",
        "SELECT pg_sleep (10)",
        "SELECT pg_sleep/* */(10)",
        "SELECT \"pg_sleep\"(10)",
        "SELECT `sleep`(10)",
        "SELECT [f](10)",
        "SELECT pg_catalog.pg_sleep(10)",
        "SELECT mine.count(10)",
        "SELECT mine . count (10)",
        "SELECT lo_export(1, 'x')",
        "SELECT * FROM dblink('host=x', 'y')",
        "SELECT nextval('s')",
        "SELECT s.nextval FROM dual",
        "SELECT NEXT VALUE FOR s",
        "SELECT * FROM read_csv('x')",
        "SELECT * FROM url('http://a.example')",
        "SELECT * FROM json_each('[]')",
        "SELECT * FROM fsdir WHERE path = 'x'",
        "SELECT TRANSFORM (a) USING 'sh'",
        "SELECT * FROM t TABLESAMPLE f(1)",
        "SELECT (f)(1)",
        "SELECT 'a'(1)",
    ] {
        assert!(!reads_only(text), "{text}");
    }
}

#[test]
fn a_text_in_the_place_of_a_table_is_a_file_and_refused() {
    for text in [
        "SELECT * FROM 'https://a.example/x.csv'",
        "SELECT * FROM \"https://a.example/x.csv\"",
        "SELECT * FROM \"x.csv\"",
        "SELECT * FROM csv.`/etc/passwd`",
        "SELECT * FROM t, 'x.csv'",
        "SELECT * FROM t JOIN 'x.csv' ON 1 = 1",
        "SELECT * FROM t JOIN u ON t.a = u.a, 'x.csv'",
        "SELECT * FROM t JOIN u ON t.a IN ('b', 'c'), 'x.csv'",
        "SELECT * FROM (t JOIN u ON t.a = u.a, 'x.csv')",
        "SELECT * FROM ('x.csv')",
        "SELECT 1 WHERE 1 IN (FROM 'x.csv')",
        "SELECT 1 WHERE 1 IN (TABLE 'x.csv')",
        "SELECT 1 UNION FROM 'x.csv'",
        "WITH p AS (PIVOT 'x.csv' ON a) SELECT * FROM p",
        "DESCRIBE 'x.csv'",
        "SHOW 'x.csv'",
        "SELECT a FROM t MAP a USING 'sh'",
    ] {
        assert!(!reads_only(text), "{text}");
    }
}

#[test]
fn what_dialects_read_differently_is_refused() {
    for text in [
        r"SELECT '\'; DELETE FROM t; -- '",
        r"SELECT 'a\b'",
        "SELECT 5--1\n",
        "SELECT 1 --a\rDELETE FROM t",
        "SELECT 1 -- a\rDELETE FROM t",
        "SELECT 1 # DELETE\n",
        "SELECT 1 /*! INTO OUTFILE 'x' */",
        "SELECT 1 /*M! INTO x */",
        "SELECT 1 /*+ SET_VAR(a = 1) */",
        "SELECT 1 /* /* */ , 2 */",
        "SELECT 1 /* open",
        "SELECT 'open",
        "SELECT \"open",
        "SELECT $$a$$",
        "SELECT $a$ DELETE $a$",
        "SELECT 1INTO x",
        "SELECT 1e0INTO x",
        "SELECT 0x1F",
        "SELECT N'a'",
        "SELECT E'a'",
        "SELECT U&'a'",
        "SELECT @a := 1",
        "SELECT @@version",
        "SELECT a\0",
        "SELECT größe FROM t",
        "SELECT\u{a0}1",
        "SELECT ＤＥＬＥＴＥ",
        "SELECT a FROM [DELETE FROM t]",
        "SELECT a[f(1)]",
        "SELECT { SERVICE x }",
        "SELECT 1 \\! ls",
        "SELECT 1)",
        "SELECT (1",
        "SELECT 1) DELETE (",
    ] {
        assert!(!reads_only(text), "{text:?}");
    }
    assert!(!reads_only(&format!("SELECT {}1{}", "(".repeat(DEEPEST + 1), ")".repeat(DEEPEST + 1))));
    assert!(!reads_only(&format!("SELECT '{}'", "a".repeat(LONGEST))));
}

#[test]
fn no_acting_word_is_allowed_elsewhere() {
    let others =
        [BEFORE_PARENTHESIS, BEFORE_TEXT, BEGIN_OF_FROM, END_OF_FROM, PRAGMAS, PRAGMAS_WITH_ARGUMENT];
    for word in others.into_iter().flat_map(WordList::iter) {
        assert!(!ACTING.contains(word), "{word}");
        assert_eq!(word.to_uppercase(), word);
    }
    assert!(ACTING.iter().all(|word| word.to_uppercase() == word));
}

/// One dialect, as far as it decides what is a word and what is not.
#[derive(Clone, Copy, Debug, Default)]
struct Dialect {
    nests_comments: bool,
    dashes_need_a_blank: bool,
    hash_comments: bool,
    runs_bang_comments: bool,
    backslash_escapes: bool,
    brackets_quote: bool,
    dollars_quote: bool,
    return_ends_a_line: bool,
}

/// The dialects that differ in one way from the standard, and two that differ in several.
fn dialects() -> Vec<Dialect> {
    let standard = Dialect::default();
    let mysql = Dialect {
        dashes_need_a_blank: true,
        hash_comments: true,
        runs_bang_comments: true,
        backslash_escapes: true,
        ..standard
    };
    let postgres =
        Dialect { nests_comments: true, dollars_quote: true, return_ends_a_line: true, ..standard };
    vec![
        standard,
        Dialect { nests_comments: true, ..standard },
        Dialect { dashes_need_a_blank: true, ..standard },
        Dialect { hash_comments: true, ..standard },
        Dialect { runs_bang_comments: true, ..standard },
        Dialect { backslash_escapes: true, ..standard },
        Dialect { brackets_quote: true, ..standard },
        Dialect { dollars_quote: true, ..standard },
        Dialect { return_ends_a_line: true, ..standard },
        mysql,
        postgres,
    ]
}

/// What is left of a text without strings, quoted names and comments: words and semicolons, as this dialect sees them.
fn bare(text: &str, dialect: Dialect) -> String {
    let letters: Vec<char> = text.chars().collect();
    let at = |index: usize| letters.get(index).copied().unwrap_or('\n');
    let ends_line = |letter: char| letter == '\n' || letter == '\r' && dialect.return_ends_a_line;
    let (mut index, mut left) = (0, String::new());
    while index < letters.len() {
        let dashes = at(index) == '-'
            && at(index + 1) == '-'
            && (!dialect.dashes_need_a_blank || at(index + 2).is_whitespace());
        let close = match at(index) {
            '\'' => Some('\''),
            '"' => Some('"'),
            '`' => Some('`'),
            '[' if dialect.brackets_quote => Some(']'),
            _ => None,
        };
        if dashes || dialect.hash_comments && at(index) == '#' {
            while index < letters.len() && !ends_line(at(index)) {
                index += 1;
            }
        } else if at(index) == '/' && at(index + 1) == '*' {
            if dialect.runs_bang_comments && at(index + 2) == '!' {
                index += 3;
                continue;
            }
            let mut depth = 1;
            index += 2;
            while index < letters.len() && depth > 0 {
                if at(index) == '*' && at(index + 1) == '/' {
                    depth -= 1;
                    index += 2;
                } else if dialect.nests_comments && at(index) == '/' && at(index + 1) == '*' {
                    depth += 1;
                    index += 2;
                } else {
                    index += 1;
                }
            }
            left.push(' ');
        } else if dialect.dollars_quote && at(index) == '$' && at(index + 1) == '$' {
            index += 2;
            while index < letters.len() && !(at(index) == '$' && at(index + 1) == '$') {
                index += 1;
            }
            index += 2;
            left.push(' ');
        } else if let Some(close) = close {
            index += 1;
            while index < letters.len() {
                let escaped = dialect.backslash_escapes && at(index) == '\\' && close != '`';
                let doubled = at(index) == close && at(index + 1) == close;
                if escaped || doubled {
                    index += 2;
                } else if at(index) == close {
                    break;
                } else {
                    index += 1;
                }
            }
            index += 1;
            left.push('?');
        } else {
            left.push(at(index));
            index += 1;
        }
    }
    left
}

/// The acting words and second statements that this dialect sees.
fn acts(text: &str, dialect: Dialect) -> bool {
    let bare = bare(text, dialect);
    let word = |word: &str| is_one_of(word, ACTING);
    bare.split(|letter: char| !letter.is_alphanumeric() && letter != '_').any(word)
        || bare.trim().trim_end_matches(';').contains(';')
}

fn fragment() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "'", "'", "''", "\"", "`", "[", "]", "--", "-- ", "\n", "\n", "\r", "/*", "*/", "/* ", "/*!", "#",
        "$$", "\\", ";", " ", " ", "DELETE", "into", "DROP", "a", "1", "(", ")", ",", "=", " from t ",
        "count(", " as ", "E", "*",
    ])
}

/// A piece that is whole in every dialect.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,4}",
        "'[a-z; ]{0,6}'".prop_map(|text| format!("= {text}")),
        "\"[a-z]{1,4}\"",
        "/\\*[a-z' ]{4,6}\\*/",
        "-- [a-z'\" ]{0,4}\n",
        "[0-9]{1,3}",
        Just("FROM t".to_owned()),
        Just("count(*)".to_owned()),
        Just(",".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn what_is_accepted_acts_in_no_dialect(fragments in proptest::collection::vec(fragment(), 0..12)) {
        let text = format!("SELECT {}", fragments.concat());
        if reads_only(&text) {
            for dialect in dialects() {
                prop_assert!(!acts(&text, dialect), "{:?} {:?}", text, dialect);
            }
        }
    }

    #[test]
    fn an_acting_word_is_refused_wherever_it_stands(
        before in proptest::collection::vec(piece(), 0..6),
        after in proptest::collection::vec(piece(), 0..6),
        word in proptest::sample::select(ACTING.iter().collect::<Vec<_>>()),
        small in any::<bool>(),
    ) {
        let word = if small { word.to_lowercase() } else { word.to_string() };
        let text = format!("SELECT {} {word} {}", before.join(" "), after.join(" "));
        prop_assert!(!reads_only(&text), "{}", text);
    }

    #[test]
    fn text_never_panics(text in any::<String>()) {
        reads_only(&text);
        reads_only(&format!("SELECT {text}"));
    }
}
