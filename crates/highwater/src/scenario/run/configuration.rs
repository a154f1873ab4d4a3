//! The configurations of a scenario: as written, with the story's servers and the telling's flow mode added.

use highwater_config::document::Way;
use highwater_config::{Diagnostics, Settings};
use serde_json::{Map, Value, json};

use crate::environment;
use crate::scenario::model::{Scenario, Telling, What};

/// Where the configuration stands that the gateway starts with.
pub(super) const START: [Way<'static>; 1] = [Way::Key("config")];

/// Where the configuration of a reloading step stands.
pub(super) fn of_step(index: usize) -> [Way<'static>; 3] {
    [Way::Key("steps"), Way::Item(index), Way::Key("reload")]
}

/// The settings of the configuration at a place of the file. `servers` are the entries of the story's own.
pub(super) fn settings(
    scenario: &Scenario,
    telling: Telling,
    servers: &Map<String, Value>,
    place: &[Way<'_>],
) -> Result<Settings, Diagnostics> {
    // What the servers of a story say counts at once, unless the story is about that.
    let mut defaults = Map::from_iter([
        ("servers".to_owned(), Value::Object(servers.clone())),
        ("quarantine".to_owned(), json!(false)),
    ]);
    if let Some(flow) = telling.flow {
        let named = scenario.document.keys(&[place, &[Way::Key("virtual_servers")]].concat());
        let all = named.into_iter().chain(["default".to_owned()]);
        let with_flow = all.map(|name| (name, json!({ "flow": flow.word() })));
        defaults.insert("virtual_servers".to_owned(), Value::Object(with_flow.collect()));
    }
    scenario.document.settings(place, &Value::Object(defaults), &environment::variable)
}

/// Whether every configuration of the scenario is right, in every telling.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Diagnostics> {
    let entry = |name: &str| (name.to_owned(), json!({ "command": "as-the-scenario-says" }));
    let servers = scenario.upstreams.iter().map(|upstream| entry(upstream.name())).collect();
    for telling in &scenario.tellings {
        settings(scenario, *telling, &servers, &START)?;
        for step in scenario.steps.iter().filter(|step| matches!(step.what, What::Reload)) {
            settings(scenario, *telling, &servers, &of_step(step.index))?;
        }
    }
    Ok(())
}
