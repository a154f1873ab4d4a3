//! `describe_tool`: all that a client may know of one tool, and what would become of a call of it.

use highwater_mcp::text::quote;
use highwater_search::Prospect;

use super::arguments::Given;
use super::prospect::{Told, outset, prospect};
use super::retrieve::look;
use super::through::call_of;
use super::{granted, told};
use crate::catalog::OwnTool;
use crate::pipeline::outlook::{foresee, taints};
use crate::pipeline::route::unknown;
use crate::pipeline::{Arrival, Delivery, Refusal, Road};

/// Describes a tool. One that the caller cannot find is unknown.
pub(super) async fn describe(road: &Road, arrival: &Arrival) -> Result<Delivery, Refusal> {
    granted(arrival, OwnTool::Describe)?;
    let given = Given::read(arrival, &["name", "arguments"])?;
    let (name, arguments) = (given.tool()?, given.object("arguments")?);
    let (names, view) = look(arrival).await?;
    let nobody = || unknown(arrival, "tool", &name).for_the_model();
    let tool = view.named(&names, &name).ok_or_else(nobody)?;
    let said = match arguments {
        None => {
            let outset = outset(road, arrival).await;
            prospect(arrival, &outset, &names, &tool).ok_or_else(nobody)?
        }
        Some(arguments) => {
            let call = Arrival {
                client: arrival.client.clone(),
                session: arrival.session.clone(),
                host: arrival.host.clone(),
                method: arrival.method,
                frame: call_of(road, arrival, &name, Some(arguments))?,
                outlet: arrival.outlet.clone(),
                attended: arrival.attended,
                variant: None,
                world: std::sync::Arc::clone(&arrival.world),
            };
            let foreseen = Box::pin(foresee(road, &call)).await?;
            Told {
                class: foreseen.proposed.reply_contract.variant(),
                prospect: Prospect::of(foreseen.effect),
                would_taint: taints(&foreseen.proposed),
            }
        }
    };
    let (server, definition) = (quote(tool.upstream.as_str()), tool.definition);
    Ok(told(arrival, &format!(r#"{{"tool":{definition},"server":{server},{}}}"#, said.members())))
}
