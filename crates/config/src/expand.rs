//! `${NAME}` and `${NAME:-default}` in the values of a server.

/// The environment as the caller sees it.
pub(crate) type Environment<'e> = &'e dyn Fn(&str) -> Option<String>;

/// Why a value could not be expanded, and the part of it that is to blame.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unexpandable {
    pub(crate) part: String,
    pub(crate) message: String,
    pub(crate) help: String,
}

/// Puts the values of variables in. As in a shell, a default also stands in for an empty variable.
/// `$${` is a literal `${`; a `$` without a brace is nothing special.
pub(crate) fn expand(text: &str, environment: Environment<'_>) -> Result<String, Unexpandable> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(kept) = before.strip_suffix('$') {
            expanded.push_str(kept);
            expanded.push_str("${");
            rest = after;
            continue;
        }
        expanded.push_str(before);
        let Some((inside, tail)) = after.split_once('}') else {
            return Err(Unexpandable {
                part: format!("${{{after}"),
                message: "`${` is never closed by `}`".to_owned(),
                help: "write `${NAME}`, or `$${` for a literal `${`".to_owned(),
            });
        };
        expanded.push_str(&resolve(inside, environment)?);
        rest = tail;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn resolve(inside: &str, environment: Environment<'_>) -> Result<String, Unexpandable> {
    let refuse =
        |message: String, help: String| Err(Unexpandable { part: format!("${{{inside}}}"), message, help });
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    if !is_name(name) {
        // Cursor and VS Code write `${env:NAME}`; what VS Code asks the user for cannot be asked here.
        let help = match name.split_once(':') {
            Some(("env", name)) if is_name(name) => format!("write `${{{name}}}`"),
            Some(("input", id)) => format!("put `{id}` into an environment variable and write `${{NAME}}`"),
            _ => "a name has letters, digits and `_`; write `$${` for a literal `${`".to_owned(),
        };
        return refuse(format!("`{name}` is not the name of a variable"), help);
    }
    match (environment(name), default) {
        (_, Some(default)) if default.contains("${") => {
            refuse("a default cannot hold another variable".to_owned(), "write the default out".to_owned())
        }
        (Some(value), None) => Ok(value),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => refuse(
            format!("the environment variable `{name}` is not set"),
            format!("set it where Highwater is started, or give a default: `${{{name}:-…}}`"),
        ),
    }
}

fn is_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some("s3cret".to_owned()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${TOKEN}".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn variables_are_replaced_by_their_values() {
        for (text, expected) in [
            ("plain", "plain"),
            ("${TOKEN}", "s3cret"),
            ("Bearer ${TOKEN}!", "Bearer s3cret!"),
            ("${TOKEN}${TOKEN}", "s3crets3cret"),
            ("${EMPTY}", ""),
            ("${EMPTY:-x}", "x"),
            ("${MISSING:-x y}", "x y"),
            ("${MISSING:-}", ""),
            ("${TOKEN:-x}", "s3cret"),
            ("$${TOKEN}", "${TOKEN}"),
            ("$$${TOKEN}", "$${TOKEN}"),
            ("$TOKEN $5 $", "$TOKEN $5 $"),
            // What a variable holds is never expanded again.
            ("${NESTED}", "${TOKEN}"),
        ] {
            assert_eq!(expand(text, &environment).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_expanded_is_named() {
        for (text, part, message) in [
            ("a ${MISSING} b", "${MISSING}", "the environment variable `MISSING` is not set"),
            ("${", "${", "`${` is never closed by `}`"),
            ("${}", "${}", "`` is not the name of a variable"),
            ("${1A}", "${1A}", "`1A` is not the name of a variable"),
            ("${env:TOKEN}", "${env:TOKEN}", "`env:TOKEN` is not the name of a variable"),
            ("${A:-${TOKEN}}", "${A:-${TOKEN}", "a default cannot hold another variable"),
        ] {
            let refused = expand(text, &environment).unwrap_err();
            assert_eq!((refused.part.as_str(), refused.message.as_str()), (part, message), "{text}");
        }
    }
}
