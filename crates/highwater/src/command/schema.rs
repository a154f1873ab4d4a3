//! `highwater schema`: the JSON schema of the configuration, for editors.

use anyhow::Context;

use crate::command::print;
use crate::exit::Failure;

pub(crate) fn run() -> Result<(), Failure> {
    let schema =
        serde_json::to_string_pretty(&highwater_config::schema()).context("the schema cannot be printed")?;
    print(&format!("{schema}\n"));
    Ok(())
}
