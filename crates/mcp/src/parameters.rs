//! Which arguments a tool or a prompt declares, by the names at the top level.

use highwater_notation::Parameters;

use crate::text::{elements, is_array, is_false, is_object, member, members, string_member};

/// What lets a schema speak of arguments elsewhere than under `properties`. What such a schema declares is not known.
const ELSEWHERE: [&str; 10] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "patternProperties",
];

/// What a tool declares, by the properties of its `inputSchema`; nothing where that cannot be told.
pub fn of_tool(tool: &str) -> Option<Parameters> {
    let schema = member(tool, "inputSchema").filter(|schema| is_object(schema))?;
    if members(schema).any(|(key, _)| ELSEWHERE.contains(&&*key)) {
        return None;
    }
    match member(schema, "properties") {
        // A schema that only says `object` takes any.
        None => member(schema, "additionalProperties").is_some_and(is_false).then(Parameters::default),
        Some(properties) if is_object(properties) => {
            Some(Parameters::of(members(properties).map(|(name, _)| name.into_owned())))
        }
        Some(_) => None,
    }
}

/// What a prompt declares, by the names of its `arguments`; nothing where that cannot be told.
pub fn of_prompt(prompt: &str) -> Option<Parameters> {
    let Some(arguments) = member(prompt, "arguments") else { return Some(Parameters::default()) };
    if !is_array(arguments) {
        return None;
    }
    let names: Option<Vec<String>> = elements(arguments)
        .map(|argument| string_member(argument, "name").map(|name| name.into_owned()))
        .collect();
    names.map(Parameters::of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_declares_its_properties() {
        let tool = r#"{"name":"t","inputSchema":{"type":"object","properties":{"to":{},"a\u0062":{}}}}"#;
        assert_eq!(of_tool(tool), Some(Parameters::of(["to", "ab"])));
        for nothing in [r#"{"properties":{}}"#, r#"{"type":"object","additionalProperties":false}"#] {
            assert_eq!(of_tool(&format!(r#"{{"inputSchema":{nothing}}}"#)), Some(Parameters::default()));
        }
    }

    #[test]
    fn what_a_schema_says_elsewhere_is_not_known() {
        for schema in [
            r#"{"$ref":"x","properties":{}}"#,
            r#"{"properties":{},"allOf":[]}"#,
            r#"{"patternProperties":{"^p":{}}}"#,
            r#"{"properties":[]}"#,
            r#"{"type":"object"}"#,
            "true",
            "null",
        ] {
            assert_eq!(of_tool(&format!(r#"{{"inputSchema":{schema}}}"#)), None, "{schema}");
        }
        assert_eq!(of_tool(r#"{"name":"t"}"#), None);
    }

    #[test]
    fn a_prompt_declares_its_arguments() {
        assert_eq!(of_prompt(r#"{"arguments":[{"name":"who"}]}"#), Some(Parameters::of(["who"])));
        assert_eq!(of_prompt(r#"{"name":"p"}"#), Some(Parameters::default()));
        assert_eq!(of_prompt(r#"{"arguments":[{}]}"#), None);
        assert_eq!(of_prompt(r#"{"arguments":7}"#), None);
    }
}
