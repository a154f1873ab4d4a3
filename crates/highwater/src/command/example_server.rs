//! `highwater example-server`: one of the built-in example servers on standard input and output.

use clap::Args;

use crate::example::{self, ExampleArgs, ExampleServer};
use crate::exit::Failure;

/// What `example-server` takes.
#[derive(Debug, Args)]
pub(crate) struct ExampleServerArgs {
    /// Which one.
    #[arg(value_name = "NAME")]
    which: ExampleServer,

    #[command(flatten)]
    args: ExampleArgs,
}

pub(crate) fn run(args: &ExampleServerArgs) -> Result<(), Failure> {
    example::run(args.which, &args.args).map_err(|error| match error.downcast::<clap::Error>() {
        Ok(usage) => usage.exit(),
        Err(error) => Failure::from(error),
    })
}
