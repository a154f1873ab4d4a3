//! Labels, trust, flow and rules that are wrong, and what the operator is told. Each snapshot shows the files and the
//! answer; every answer has a place and a way out.

use highwater_config::{Surroundings, check};

fn diagnosis(text: &str, others: &[(&str, &str)]) -> String {
    let files = |path: &str| match others.iter().find(|(name, _)| *name == path) {
        Some((_, text)) => Ok((*text).to_owned()),
        None => Err("there is no such file".to_owned()),
    };
    let surroundings = Surroundings { environment: &|_| None, files: &files };
    match check("highwater.yaml", text, &surroundings) {
        Err(problems) => {
            for problem in problems.iter() {
                assert!(problem.place.is_some() && problem.help.is_some(), "{problem}");
            }
            problems.to_string()
        }
        Ok(checked) => {
            assert!(!checked.warnings.is_empty(), "accepted: {:?}", checked.settings);
            let shown = checked.warnings.iter().map(|warning| {
                assert!(warning.place.is_some() && warning.help.is_some(), "{warning}");
                warning.as_warning().to_string()
            });
            shown.collect::<Vec<_>>().join("\n\n")
        }
    }
}

macro_rules! tells {
    ($($name:ident: $text:expr $(, $file:literal: $other:expr)*;)+) => { $(
        #[test]
        fn $name() {
            let (text, others): (&str, &[(&str, &str)]) = ($text, &[$(($file, $other)),*]);
            let shown: String = others.iter().map(|(name, text)| format!("\n# {name}\n{text}")).collect();
            let answer = diagnosis(text, others);
            insta::with_settings!({
                omit_expression => true, prepend_module_to_snapshot => false, snapshot_path => "snapshots/judgement",
            }, {
                insta::assert_snapshot!(stringify!($name), format!("{text}{shown}\n{}\n{answer}", "-".repeat(40)));
            });
        }
    )+ };
}

/// A server, and what the test is about.
macro_rules! with_mail {
    ($text:literal) => {
        concat!("servers: { mail: { command: mail-server } }\n", $text)
    };
}

/// A server with labels for its tool `send`.
macro_rules! labelled {
    ($text:literal) => {
        concat!("servers:\n  mail:\n    command: mail-server\n    labels:\n      send:\n", $text)
    };
}

// Labels.
tells! {
    sentences_that_cannot_be_shown: labelled!("        display: \"Send to {to\"\n      reply:\n        display: \"{ }\"\n      forward: { display: \"\" }\n    prompt_labels: { brief: { display: \"Brief\" } }\n");
    an_unknown_key_of_a_label: labelled!("        inputMetdata: { destination: public }\n        returnMetadata: { sensitivty: none }\n");
    a_word_that_no_axis_has: labelled!("        inputMetadata: { destination: publik, outcomes: harmless }\n        returnMetadata: { source: internet, sensitivity: [finacial, none] }\n        approval: always\n");
    an_unknown_role: labelled!("        roles: { to: recipient }\n      draft:\n        roles: { body: contents }\n      move:\n        roles: { '': object }\n");
    a_class_that_does_not_fit_there: labelled!("        inputMetadata: { sensitivity: [confidential, unclassified, any] }\n        returnMetadata: { sensitivity: any }\n");
    an_empty_list_of_words: labelled!("        inputMetadata: { destination: [], sensitivity: [] }\n        returnMetadata: { source: [] }\n");
    a_scope_that_is_no_list: labelled!("        returnMetadata: { sensitivity: { regulated: { scopes: hipaa } } }\n");
    cases_that_overlap: labelled!("        cases:\n          - when: { arguments.to: { matches: '*@acme.example' } }\n            inputMetadata: { destination: internal }\n          - when: { arguments.to: { matches: 'press@*' } }\n            inputMetadata: { destination: public }\n");
    a_case_outside_its_label: labelled!("        inputMetadata: { destination: [user, internal] }\n        cases:\n          - when: { arguments.to: press@example.com }\n            inputMetadata: { destination: public }\n");
    a_case_that_asks_for_more_than_arguments: labelled!("        cases:\n          - when: { session.private: true }\n            inputMetadata: { destination: internal }\n          - when: { argument.to: me }\n            inputMetadata: { destination: user }\n          - when: { arguments.to: me }\n");
    a_result_that_points_nowhere: labelled!("        result:\n          - { pointer: structuredContent/private, equals: true, returnMetadata: { sensitivity: user } }\n          - { pointer: /a~2b, equals: [true], returnMetadata: { sensitivity: user } }\n          - { equals: true, returnMetadata: { sensitivity: user } }\n");
    a_label_for_many_tools: "servers:\n  mail:\n    command: mail-server\n    allowed_tools: ['read_*']\n    labels:\n      send_*: { inputMetadata: { destination: public } }\n";
    a_wrong_word_for_every_tool: "servers:\n  mail:\n    command: mail-server\n    labels:\n      '*':\n        returnMetadata: { source: interal }\n        aproval: confirm\n";
    levels_and_capabilities_that_are_none: labelled!("        read_confidentiality: hihg\n        write_confidentiality: []\n        capabilities: { netwrok: true, filesystem: /srv, execution: { git: true } }\n");
    levels_of_cases_that_contradict: labelled!("        read_confidentiality: low\n        cases:\n          - when: { arguments.to: me }\n            read_confidentiality: high\n            capabilities: { netwrok: true }\n");
    capabilities_of_a_prompt: "servers:\n  mail:\n    command: mail-server\n    prompt_labels:\n      review: { read_confidentiality: high, write_confidentiality: low, capabilities: { network: false } }\n";
    a_resource_with_arguments: "servers:\n  mail:\n    command: mail-server\n    resource_labels:\n      'mail://in/*': { returnMetadata: { source: untrustedPublic }, roles: { folder: object } }\n      'mail://*/in': { returnMetadata: { source: internal } }\n";
}

// Trust and flow.
tells! {
    an_unknown_key_of_trust: "servers:\n  mail:\n    command: mail-server\n    trust: { server_turst: tool, verifed: true }\n";
    a_level_that_no_trust_has: "servers:\n  mail:\n    command: mail-server\n    trust: { server_trust: trusted, resource_trust: ower, verified: yes }\n";
    trust_of_an_unknown_server: with_mail!("mcp_servers:\n  mial: { server_trust: tool, verified: true }\n  https://example.com/mcp: { server_trust: tool, verified: true }\n");
    trust_written_twice: "servers:\n  mail: { command: mail-server, trust: { server_trust: tool, verified: true } }\nmcp_servers:\n  mail: { server_trust: none }\n";
    trust_that_counts_for_nothing: "servers:\n  mail: { command: mail-server, trust: { server_trust: tool, verified: false } }\n";
    an_unknown_flow: with_mail!("flow: stirct\nvirtual_servers:\n  coding: { flow: off }\n  reading: { flwo: strict }\n");
    an_unknown_destination: with_mail!("clearance: { publik: none, internal: [user, secret] }\n");
    a_clearance_that_makes_no_sense: with_mail!("clearance: { public: [none, user], internal: [user, unclassified], user: { regulated: { scopes: gdpr, region: eu } } }\n");
    a_password_that_is_not_set: with_mail!("flow: strict\nstore: { postgres: 'postgres://highwater:${DB_PASSWORD}@db.example/highwater' }\n");
}

// Rules.
tells! {
    a_misspelt_fact: with_mail!("rules:\n  - name: one\n    effect: block\n    when: { session.privat: true }\n  - name: two\n    effect: block\n    conditions:\n      and:\n        - { fact: tool.annotations.inputMetadata.destinaton, equals: public }\n        - { fact: argument.to, exists: true }\n        - { fact: openWorldHint, equals: true }\n");
    an_unknown_key_of_a_rule: with_mail!("rules:\n  - name: one\n    efect: block\n    when: { session.private: true }\n  - title: two\n    effect: block\n    then: allow\n    when: { session.private: true }\n");
    an_effect_that_is_none: with_mail!("rules:\n  - { name: one, effect: deny, when: { session.private: true } }\n  - { name: two, effect: allow, when: { session.private: true } }\n  - { name: three, effect: blok, when: { session.private: true } }\n");
    a_reply_in_a_rule_about_calls: with_mail!("rules:\n  - name: one\n    effect: block\n    phase: call\n    when: { response.annotations.maliciousActivityHint: true }\n  - name: two\n    effect: block\n    when: { response.annotations.openWorldHint: true, flow.violations: write }\n");
    a_call_in_a_rule_about_replies: with_mail!("rules:\n  - name: one\n    effect: redact\n    phase: result\n    when: { flow.violations: write }\n  - name: two\n    effect: block\n    phase: reply\n    when: { session.private: true }\n");
    a_value_of_another_kind: with_mail!("rules:\n  - name: one\n    effect: block\n    conditions:\n      or:\n        - { fact: session.private, equals: 'true' }\n        - { fact: session.private, equals: high }\n        - { fact: session.risk, greaterThan: high }\n        - { fact: session.risk, greaterThan: '50' }\n        - { fact: tool.name, equals: 7 }\n        - { fact: tool.name, greaterThan: 3 }\n        - { fact: session.sensitivity, exists: true }\n        - { fact: arguments.amount, greaterThan: 10.5 }\n        - { fact: arguments.to, in: a@example.com }\n");
    a_word_outside_its_list: with_mail!("rules:\n  - name: one\n    effect: block\n    when: { session.confidentiality: hihg, session.sensitivity: { in: [pii, secrets] } }\n");
    a_fact_that_nothing_produces: with_mail!("rules:\n  - name: one\n    effect: block\n    when: { response.sightings: { contains: injection } }\n  - name: two\n    effect: block\n    when: { server.sandboxed: false, tool.name: run }\nwaivers:\n  - waive: [rule.two]\n    when: { arguments.sightings: { contains: secret } }\n    until: 2027-01-31\n    reason: it is looked into\n");
    an_unknown_operator: with_mail!("rules:\n  - name: one\n    effect: block\n    when: { tool.name: { startsWith: send_ }, session.private: { equal: true } }\n  - name: two\n    effect: block\n    conditions: { fact: session.private }\n  - name: three\n    effect: block\n    conditions: { fact: tool.name, matches: 'a*', equals: b }\n");
    tests_that_exclude_each_other: with_mail!("rules:\n  - name: one\n    effect: block\n    conditions:\n      and:\n        - { fact: tool.name, equals: send }\n        - { fact: tool.name, equals: read }\n  - name: two\n    effect: block\n    when: { session.risk: { greaterThan: 100 } }\n");
    a_rule_that_falls_silent: with_mail!("rules:\n  - name: one\n    effect: block\n    when: { session.private: false, tool.name: send }\n  - name: two\n    effect: confirm\n    conditions: { not: { fact: session.sensitivity, contains: pii } }\n  - name: three\n    effect: confirm\n    when: { session.integrity: { greaterThan: tool } }\n");
    a_rule_without_a_condition: with_mail!("rules:\n  - { name: one, effect: block }\n  - { name: two, effect: block, when: {} }\n  - { name: three, effect: block, conditions: { or: [] } }\n  - { name: four, effect: block, when: { tool.name: { in: [] } } }\n  - { name: five, effect: block, when: { session.private: true }, conditions: { fact: session.private, equals: true } }\n");
    both_forms_in_one: with_mail!("rules:\n  - name: one\n    effect: block\n    when: { or: [{ session.private: true }] }\n  - name: two\n    effect: block\n    conditions: { session.private: true }\n  - name: three\n    effect: block\n    conditions: { or: [{ fact: session.private, equals: true }], not: { fact: session.malicious, equals: true } }\n");
    two_rules_of_one_name: with_mail!("rules:\n  - { name: one, effect: block, when: { session.malicious: true } }\nrules_files: [more.yaml]\n"), "more.yaml": "- { name: one, effect: confirm, when: { session.private: true } }\n";
    rules_by_name: with_mail!("rules:\n  one: { effect: block, when: { session.private: true } }\n");
    an_argument_that_is_not_guarded: with_mail!("rules:\n  - name: one\n    effect: block\n    when: { arguments.to: { matches: '*@evil.example' } }\n");
    a_file_of_rules_that_is_not_there: with_mail!("rules_files: [rules/mail.yaml]\n");
    a_file_of_rules_that_is_broken: with_mail!("rules_files: [mail.yaml, calendar.yaml]\n"), "mail.yaml": "rules:\n  - name: one\n    effect: block: now\n", "calendar.yaml": "rules:\n  - name: two\n    effect: block\n    when: { session.malicous: true }\nrule: []\n";
    a_waiver_of_nothing: with_mail!("rules:\n  - { name: large-payments, effect: passkey, when: { tool.name: pay } }\nwaivers:\n  - waive: [rule.large-payment, flow.wirte, structural.allowed_tools, everything]\n    when: { tool.name: pay }\n    until: 2027-01-31\n    reason: The accountant pays.\n");
    a_waiver_that_lacks_something: with_mail!("waivers:\n  - { waive: flow.write }\n  - { waive: [flow.write], when: { tool.name: pay }, until: tomorrow, reason: '' }\n");
    a_waiver_that_opens_as_the_session_reads: with_mail!("waivers:\n  - waive: [flow.act]\n    when: { session.private: true }\n    until: 2027-01-31\n    reason: It is private anyway.\n");
}
